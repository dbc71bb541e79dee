import OpenAI from 'openai'
import t from 'tap'
import { post, sdk, simulator } from '../support.js'

t.test('the list has the named models', async t => {
  const list = await sdk(await simulator(t)).models.list()
  t.same(
    list.data.map(model => model.id),
    [
      'sim-text',
      'sim-embed',
      'sim-moderate',
      'sim-image',
      'sim-speech',
      'sim-transcribe',
      'sim-realtime',
      'sim-video',
      'sim-rerank',
      'sim-responses',
    ],
  )
  t.match(list.data[0], { object: 'model', created: 1_735_689_600, owned_by: 'simulator' })
})

t.test('any name is a model', async t => {
  const client = sdk(await simulator(t))
  for (const id of ['sim-text', 'gpt-4o', 'sim-a/b c%']) t.equal((await client.models.retrieve(id)).id, id)
})

t.test('one that does not exist is a fault like others', async t => {
  const client = sdk(await simulator(t))
  const error = await client.models.retrieve('other?status=404').catch((error: unknown) => error)
  t.ok(error instanceof OpenAI.NotFoundError)
})

t.test('faults may be in the path, too', async t => {
  const { origin } = await simulator(t)
  t.equal((await fetch(`${origin}/v1/models/sim-text%3Fstatus=503`)).status, 503)
  t.equal((await fetch(`${origin}/v1/models/%zz`)).status, 400)
})

t.test('an unknown path is 404, another method 405 with what is allowed', async t => {
  const upstream = await simulator(t)
  const { origin } = upstream
  const unknown = await post(upstream, '/v1/unknown?a=1', {})
  t.equal(unknown.status, 404)
  t.match(JSON.parse(unknown.text), {
    error: { message: 'Invalid URL (POST /v1/unknown)', type: 'invalid_request_error' },
  })
  const method = await fetch(`${origin}/v1/chat/completions`)
  t.equal(method.status, 405)
  t.equal(method.headers.get('allow'), 'POST')
  t.match(await method.json(), { error: { code: 'method_not_supported' } })
})
