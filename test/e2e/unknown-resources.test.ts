import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** Resources that were made outside of the gateway: refused, or passed to the upstream that is declared to take them. */

relaysAnything()

const BOB = 'bob-secret-key-of-some-length'
const FILE = { id: 'file-outside', object: 'file', bytes: 1, created_at: 1, filename: 'a', purpose: 'batch' }

async function stage(t: Test, unknown: string): Promise<{ gateway: TestGateway; up: RawUpstream }> {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
keys:
  ann: { secret: { env: CALLER_KEY }, models: ["*"] }
  bob: { secret: { env: BOB_KEY }, models: ["*"] }
store: { type: memory }
upstreams: { up: { kind: openai, base: "${up.origin}", secret: { env: UPSTREAM_KEY }${unknown} } }
models: { m: up }
`,
    { env: { BOB_KEY: BOB } },
  )
  return { gateway, up }
}

const chatWith = (file_id: string) => ({
  model: 'm',
  messages: [{ role: 'user', content: [{ type: 'file', file: { file_id } }] }],
})
const chat = json({
  id: 'c',
  object: 'chat.completion',
  choices: [],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
})
const response = (id: string) => json({ id, object: 'response', status: 'completed', output: [], usage: null })

t.test('by default what the gateway has not seen being made is not found', async t => {
  for (const unknown of ['', ', resources: { unknown: refuse }']) {
    const { gateway, up } = await stage(t, unknown)
    up.answer(json(FILE))
    const statuses = [
      await gateway.request('/v1/files/file-outside', { method: 'GET' }),
      await gateway.request('/v1/chat/completions', { body: chatWith('file-outside') }),
      await gateway.request('/v1/responses', {
        body: { model: 'm', input: 'a', previous_response_id: 'resp_outside' },
      }),
    ].map(({ status }) => status)
    t.strictSame(statuses, [404, 404, 400])
    t.equal(up.requests.items.length, 0)
  }
})

t.test(
  'passed on where that is declared: nobody owns it afterwards, and what a key has made stays its own',
  async t => {
    const { gateway, up } = await stage(t, ', resources: { unknown: pass }')
    up.answer(json(FILE))
    for (const key of [gateway.key, BOB, gateway.key]) {
      const answer = await gateway.request('/v1/files/file-outside', { method: 'GET', key })
      t.equal(answer.status, 200, answer.text)
      t.match(answer.json(), FILE)
    }
    t.match((await gateway.request('/v1/files', { method: 'GET' })).json(), { data: [] }, 'it is in nobody’s list')
    up.answer(chat)
    t.equal((await gateway.request('/v1/chat/completions', { body: chatWith('file-outside') })).status, 200)
    t.equal(up.requests.items.at(-1)?.target, '/v1/chat/completions')

    up.answer(json({ ...FILE, id: 'file-anns' }))
    const form = '--B\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n--B--\r\n'
    const headers = { 'content-type': 'multipart/form-data; boundary=B' }
    t.equal((await gateway.request('/v1/files', { method: 'POST', body: form, headers })).status, 200)
    const seen = up.requests.items.length
    t.equal((await gateway.request('/v1/files/file-anns', { method: 'GET', key: BOB })).status, 404)
    const named = await gateway.request('/v1/chat/completions', { body: chatWith('file-anns'), key: BOB })
    t.equal(named.status, 404)
    t.equal(up.requests.items.length, seen, 'and its upstream hears nothing of it')
    t.equal((await gateway.request('/v1/files/file-anns', { method: 'GET' })).status, 200)
  },
)

t.test('a conversation that began outside goes on there', async t => {
  const { gateway, up } = await stage(t, ', resources: { unknown: pass }')
  up.answer(response('resp_next'))
  const ask = (previous: string, key = gateway.key) =>
    gateway.request('/v1/responses', { body: { model: 'm', input: 'a', previous_response_id: previous }, key })
  const answer = await ask('resp_outside')
  t.equal(answer.status, 200, answer.text)
  t.match(up.requests.items[0]?.json(), { previous_response_id: 'resp_outside' })
  t.equal((await ask('resp_next')).status, 200, 'the next turn is the key’s own')
  const others = await ask('resp_next', BOB)
  t.match(others.json(), { error: { code: 'previous_response_not_found' } })
})

proveNoLeak(t)
