import t from 'tap'
import { ADMIN_SECRET, adminLine, adminOf } from '../../helpers/admin.js'
import { json, reset } from '../../helpers/answers.js'
import { startTestGateway } from '../../helpers/gateway.js'
import { startRawUpstream } from '../../helpers/raw-upstream.js'

const messages = [{ role: 'user', content: 'Hello' }]
const SECRET = 'an-upstream-secret-1a2b3c4d5e'
const env = {
  GATEWAY_ADMIN_KEY: ADMIN_SECRET,
  CALLER_KEY: 'the-key-of-the-caller-0123456789',
  UP_KEY: SECRET,
}

interface State {
  readonly upstreams: readonly { readonly name: string; readonly faults?: string; readonly until?: number }[]
  readonly known?: readonly { readonly name: string }[]
}

interface Tested {
  readonly call: string
  readonly results: readonly {
    readonly status?: number
    readonly error?: string
    readonly credential?: string
    readonly milliseconds: number
  }[]
}

t.test('faults of the simulator and test calls', async t => {
  const up = await startRawUpstream(t)
  const { line, origin } = await adminLine()
  const gateway = await startTestGateway(
    t,
    `version: 1
listen: { host: 127.0.0.1, port: 0 }
store: { type: memory }
retry: { attempts: 1 }
health: off
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
upstreams:
  sim: { kind: simulator }
  slow: { kind: simulator, headers: { x-simulate: latency=1ms } }
  real: { kind: openai, base: ${up.origin}, secret: { env: UP_KEY } }
  bare: { base: ${up.origin}, speaks: { chat: POST /v1/chat/completions } }
models: { a: { upstream: sim, as: sim-text }, b: { upstream: slow, as: sim-text }, c: { upstream: bare, as: x } }
${line}
`,
    { env },
  )
  const ask = adminOf(t, origin)
  const put = (body: object) => ask('PUT', '/admin/faults', body)
  const chat = async (model: string): Promise<number> =>
    (await gateway.chat({ model, messages }, { key: env.CALLER_KEY })).status

  await t.test('strike at the upstream that they are switched on at, and nowhere else', async t => {
    const before = (await ask('GET', '/admin/faults')).json() as unknown as State
    t.same(
      before.upstreams.map(({ name }) => name),
      ['sim', 'slow'],
      'only those that the simulator answers for',
    )
    t.ok(before.known?.some(({ name }) => name === 'failure-rate'))
    const set = await put({ upstream: 'slow', faults: 'status=503 retry-after=1', minutes: 5 })
    t.equal(set.status, 200, set.text)
    const { upstreams } = set.json() as unknown as State
    const until = upstreams.find(({ name }) => name === 'slow')?.until ?? 0
    t.ok(until > Date.now() && until <= Date.now() + 5 * 60_000)
    t.same([await chat('a'), await chat('b')], [200, 503])
    await put({ upstream: 'slow', faults: '' })
    t.equal(await chat('b'), 200, 'an empty text switches them off')
    const line = await gateway.log.find(({ msg }) => msg === 'simulated faults are on')
    t.match(line, { upstream: 'slow', faults: 'status=503 retry-after=1' })
  })

  await t.test('end all with one request', async t => {
    await put({ upstream: 'sim', faults: 'status=500 times=1' })
    await put({ upstream: 'slow', faults: 'status=500' })
    t.same([await chat('a'), await chat('a'), await chat('b')], [500, 200, 500])
    const { upstreams } = (await ask('DELETE', '/admin/faults')).json() as unknown as State
    t.same(
      upstreams.filter(({ faults }) => faults !== undefined),
      [],
    )
    t.equal(await chat('b'), 200)
  })

  await t.test('are refused where they are unknown, too many, too long, or at a real upstream', async t => {
    const refusals = await Promise.all([
      put({ upstream: 'sim', faults: 'no-such-fault' }),
      put({ upstream: 'sim', faults: 'x'.repeat(501) }),
      put({ upstream: 'sim', faults: 'reset', minutes: 61 }),
      put({ upstream: 'sim', faults: 'reset', minutes: 0.5 }),
      put({ upstream: 'real', faults: 'reset' }),
      put({ upstream: 'nowhere', faults: 'reset' }),
    ])
    t.same(
      refusals.map(({ status }) => status),
      [400, 400, 400, 400, 409, 404],
    )
    t.match(refusals[0]?.text, /no-such-fault/)
  })

  const test = async (name: string) => await ask('POST', `/admin/upstreams/${name}/test`)

  await t.test('a test call says status, time and error, without the secret', async t => {
    const good = (await test('sim')).json() as unknown as Tested
    t.match(good, { call: 'GET /v1/models', results: [{ status: 200 }] })
    up.answer(json({ error: { message: `wrong key ${SECRET} or sk-a1b2c3d4e5f6g7h8 here` } }, { status: 401 }))
    const bad = await test('real')
    const [result] = (bad.json() as unknown as Tested).results
    t.equal(result?.status, 401)
    t.equal(result?.error, 'wrong key [secret] or [secret] here')
    t.notMatch(bad.text, SECRET)
    up.answer(reset)
    const [gone] = ((await test('real')).json() as unknown as Tested).results
    t.equal(gone?.status, undefined)
    t.type(gone?.error, 'string')
    t.same([(await test('bare')).status, (await test('nowhere')).status], [409, 404])
  })
})
