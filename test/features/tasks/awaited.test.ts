import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { command } from '../../cli/in-process.js'
import { json } from '../../helpers/answers.js'
import { CALLER, startTestGateway, type TestGateway } from '../../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../../helpers/raw-upstream.js'

// A plain call whose upstream does the work in the background.

const IMAGE = { model: 'm', prompt: 'a lake', size: '512x512' }

function yamlOf(up: RawUpstream, more = '', settings = ''): string {
  return `version: 1
${CALLER}
${settings}
upstreams:
  up:
    base: "${up.origin}"
    credential: { in: header, name: x-key, secret: { env: UPSTREAM_KEY } }
    speaks:
      images.generations:
        call: POST /v1/{model}
        request: [{ split: { size: { at: x, into: [width, height] } } }, { remove: [model] }]
        task: { id: id, state: status, states: { ready: succeeded }, error: { message: why }, poll: { every: 5ms }, result: result.sample }
        response: [{ list: [result.sample] }, { wrap: { "result.sample.*": url } }, { rename: { result.sample: data } }, { keep: [data] }]
      images.retrieve: GET /v1/get?id={task_id}
      images.cancel: POST /v1/stop/{task_id}
${more}
models: { m: { upstream: up, as: flux } }
`
}

async function stage(t: Test, more = '', settings = ''): Promise<{ up: RawUpstream; gateway: TestGateway }> {
  const up = await startRawUpstream(t)
  return { up, gateway: await startTestGateway(t, yamlOf(up, more, settings)) }
}

const draw = ({ gateway }: { gateway: TestGateway }): ReturnType<TestGateway['request']> =>
  gateway.request('/v1/images/generations', { body: IMAGE })

t.test('the answer is the result of the work, polled until it has ended', async t => {
  const ready = await stage(t)
  const { up, gateway } = ready
  up.answer(
    json({ id: 'w/1', polling_url: 'x' }, { status: 202 }),
    json({ id: 'w/1', status: 'Pending' }),
    json({ error: 'busy' }, { status: 503 }),
    json({ id: 'w/1', status: 'Ready', result: { sample: 'https://pictures.example/1.png' } }),
  )
  const answer = await draw(ready)
  t.equal(answer.status, 200)
  t.same(answer.json(), { data: [{ url: 'https://pictures.example/1.png' }] })
  const asked = up.requests.items.map(({ method, target }) => `${method} ${target}`)
  t.same(asked, ['POST /v1/flux', ...Array(3).fill('GET /v1/get?id=w%2F1')])
  t.match(up.requests.items[0]?.json(), { prompt: 'a lake', width: '512', height: '512' })
  t.ok(up.requests.items.every(one => one.header('x-key') !== undefined))
  const line = await gateway.log.find(one => one.msg === 'request')
  t.match(line, { status: 200, upstream: 'up', outcome: 'ok' })
  t.equal(line.attempts, undefined, 'one attempt')
})

t.test('a shipped kind is served so', async t => {
  const up = await startRawUpstream(t)
  const result = { sample: 'https://pictures.example/3.png' }
  up.answer(
    json({ id: '1', polling_url: 'x' }),
    json({ id: '1', status: 'Pending' }),
    json({ id: '1', status: 'Ready', result }),
  )
  const upstream = `{ kind: black-forest-labs, base: "${up.origin}", secret: { env: UPSTREAM_KEY } }`
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams: { up: ${upstream} }\nmodels: { m: { upstream: up, as: flux } }\n`,
  )
  const answer = await gateway.request('/v1/images/generations', { body: IMAGE })
  t.same(answer.json(), { data: [{ url: result.sample }] })
  t.same(up.requests.items[0]?.json(), { prompt: 'a lake', width: 512, height: 512 })
})

t.test('work that has ended with its first answer is not polled', async t => {
  const ready = await stage(t)
  ready.up.answer(json({ id: '1', status: 'ready', result: { sample: 'https://pictures.example/2.png' } }))
  t.same((await draw(ready)).json(), { data: [{ url: 'https://pictures.example/2.png' }] })
  t.equal(ready.up.requests.items.length, 1)
})

t.test('work that fails is an error, with the reason and without the credential', async t => {
  const ready = await stage(t)
  const { up, gateway } = ready
  const why = 'moderated: bearer abcdefghijklmnopqrstuvwxyz'
  up.answer(json({ id: '1', status: 'pending' }), json({ status: 'failed', why }))
  const answer = await draw(ready)
  t.equal(answer.status, 502)
  t.match(answer.json(), {
    error: { message: 'The upstream could not complete the request: moderated: bearer [hidden]' },
  })
  t.match(await gateway.log.find(one => one.msg === 'request'), { error: 'upstream_failed' })
  t.equal(up.requests.items.length, 2, 'it is not begun again')
})

t.test('answers that begin nothing, and work that is forgotten, are refused', async t => {
  const ready = await stage(t)
  const { up } = ready
  for (const [body, words] of [
    [{ nothing: true }, /no id of the work/],
    ['text', /It has no id|not JSON/],
  ] as const) {
    up.answer(json(body))
    const answer = await draw(ready)
    t.equal(answer.status, 502)
    t.match(answer.text, words)
  }
  up.answer(json({ id: '1' }), json({ detail: 'not found' }, { status: 404 }))
  t.match((await draw(ready)).text, /does not know the work that it began/)
})

t.test('time is bounded, and the upstream hears that the result is of no use', async t => {
  const ready = await stage(t, '    timeouts: { total: 300ms }')
  const { up } = ready
  up.answer(json({ id: '7' }), json({ id: '7', status: 'pending' }))
  const answer = await draw(ready)
  t.equal(answer.status, 504)
  const stop = await up.requests.find(({ target }) => target.startsWith('/v1/stop'))
  t.equal(`${stop.method} ${stop.target}`, 'POST /v1/stop/7')
})

t.test('a client that leaves ends it', async t => {
  const ready = await stage(t)
  const { up, gateway } = ready
  up.answer(json({ id: '8' }), json({ id: '8', status: 'pending' }))
  const client = await gateway.open('/v1/images/generations', { body: IMAGE })
  await up.requests.find(({ method }) => method === 'GET')
  client.socket.destroy()
  const stop = await up.requests.find(({ target }) => target.startsWith('/v1/stop'))
  t.equal(stop.target, '/v1/stop/8')
  t.match(await gateway.log.find(one => one.msg === 'request'), { status: 499 })
})

t.test('an upstream that cannot be asked for the result is an error of the file', async t => {
  const { gateway } = await stage(t)
  const file = join(gateway.folder, 'gateway.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace(/^ +images.retrieve:.*\n/m, ''))
  const { code, stdout, stderr } = await command(['validate', file], {
    env: { CALLER_KEY: 'x'.repeat(20), UPSTREAM_KEY: 'u' },
  })
  t.equal(code, 1)
  t.match(
    stdout + stderr,
    /gateway\.yaml:\d+:\d+ .*speaks.*POST \/v1\/images\/generations waits until such work has ended, and this upstream cannot be asked: add images\.retrieve/,
  )
})
