import t, { type Test } from 'tap'
import { explainRequest } from '../../src/plan/explain.js'
import { brokenStream, CHAT_ANSWER, chatEvent, json, reset } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { compatibleError } from '../helpers/expect.js'
import { fastClock } from '../helpers/fast-clock.js'
import { CALLER, CHAT, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { refusingOrigin } from '../helpers/hanging-port.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

// What upstreams say here is not all declared.
relaysAnything()

const says = (status: number, headers: Readonly<Record<string, string>> = {}): Script =>
  json({ error: { message: 'not now' } }, { status, headers })

const targets = (origins: readonly string[], retry: string): string => {
  const upstreams = origins.map((origin, index) => `  u${index}: ${upstreamYaml(origin)}\n`).join('')
  const names = origins.map((_, index) => `u${index}`).join(', ')
  return `version: 1\n${CALLER}\nupstreams:\n${upstreams}models: { m: [${names}] }\nretry: ${retry}\n`
}

/** How often a failure is tried, by what `explain` says about the first target. */
function promised(text: string, failure: string, count: number): number {
  const sentence = /^ +retry +(.*)$/m.exec(text)?.[1] ?? ''
  const most = Number(/at most (\d+) attempts? in total/.exec(sentence)?.[1] ?? 1)
  const [, leads, , then, again] =
    /^after ([^:]*): (the next target, at once(; then again(?: after ([^,]*(?:, [\w]+)*))?)?)?/.exec(sentence) ?? []
  const named = (list: string | undefined): boolean => (list ?? '').split(', ').includes(failure)
  if (!named(leads)) return 1
  if (!sentence.includes('the next target')) return most
  return then === undefined || (again !== undefined && !named(again)) ? Math.min(most, count) : most
}

const FAILURES: Readonly<Record<string, Script | 'refuse'>> = {
  connect: 'refuse',
  reset,
  400: says(400),
  404: says(404),
  408: says(408),
  429: says(429),
  500: says(500),
  501: says(501),
  503: says(503),
}

const TABLE: readonly (readonly [string, readonly number[], readonly string[]])[] = [
  ['{ max_wait: 1ms }', [1, 2, 3], Object.keys(FAILURES)],
  ['{ attempts: 1 }', [2], ['connect', '429']],
  ['{ attempts: 5, on: [404, 501, 503, connect], max_wait: 1ms }', [1, 2], ['404', '501', '503', '429']],
]

for (const [retry, counts, failures] of TABLE) {
  for (const count of counts) {
    t.test(`explain promises what upstreams see: ${count} targets, retry: ${retry}`, async t => {
      for (const failure of failures) {
        const script = FAILURES[failure] ?? 'refuse'
        const upstreams: RawUpstream[] = []
        const origins: string[] = []
        for (let index = 0; index < count; index++) {
          if (script === 'refuse') origins.push(await refusingOrigin())
          else {
            const up = await startRawUpstream(t)
            up.answer(script)
            upstreams.push(up)
            origins.push(up.origin)
          }
        }
        const yaml = targets(origins, retry)
        const gateway = await startTestGateway(t, yaml)
        const { plan } = gateway.gateway
        const text = explainRequest(plan, { method: 'POST', path: '/v1/chat/completions', model: 'm' })
        t.ok((await gateway.chat()).status >= 400)
        const { attempts } = (await gateway.log.find(line => line.msg === 'request')) as unknown as {
          attempts: object[]
        }
        const seen = upstreams.reduce((sum, { requests }) => sum + requests.items.length, 0)
        const wanted = promised(text, failure, count)
        t.equal(script === 'refuse' ? attempts.length : seen, wanted, `${failure}: ${/retry +(.*)/.exec(text)?.[1]}`)
      }
    })
  }
}

async function one(
  t: Test,
  more: string,
  ...scripts: readonly Script[]
): Promise<{ up: RawUpstream; gateway: TestGateway }> {
  const up = await startRawUpstream(t)
  up.answer(...scripts)
  return { up, gateway: await startTestGateway(t, oneUpstream(up.origin, more)) }
}

t.test('a single target that is busy for a moment is asked again, and the client notices nothing', async t => {
  const { up, gateway } = await one(t, 'retry: { max_wait: 1ms }\n', says(429), says(503), json(CHAT_ANSWER))
  t.same((await gateway.chat()).json(), CHAT_ANSWER)
  t.equal(up.requests.items.length, 3)
  const line = await gateway.log.find(line => line.msg === 'request')
  t.match(line, { status: 200, attempts: [{ phase: 'status' }, { phase: 'status' }, { phase: 'ok' }] })
})

const WAITS: readonly (readonly [string, Readonly<Record<string, string>>, number])[] = [
  ['retry-after in seconds', { 'retry-after': '7' }, 7000],
  ['retry-after-ms', { 'retry-after-ms': '3500' }, 3500],
  [
    'the reset of a limit that is used up',
    { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '4s' },
    4000,
  ],
]

for (const [title, headers, wait] of WAITS) {
  t.test(`the same target is asked again after ${title}, not before`, async t => {
    const at: number[] = []
    fastClock(t)
    const noted =
      (script: Script): Script =>
      peer => {
        at.push(performance.now())
        return script(peer)
      }
    const { gateway } = await one(t, 'retry: { max_wait: 8s }\n', noted(says(429, headers)), noted(json(CHAT_ANSWER)))
    t.equal((await gateway.chat()).status, 200)
    const [first = 0, second = 0] = at
    t.ok(second - first >= wait, `${second - first} ms of the gateway's clock`)
  })
}

t.test('a wait that is longer than the bound goes to the client, with the failure and at once', async t => {
  const { up, gateway } = await one(t, 'retry: { max_wait: 8s }\n', says(429, { 'retry-after': '9' }))
  const answer = await gateway.chat()
  t.equal(answer.status, 429)
  t.equal(answer.header('retry-after'), '9')
  t.equal(up.requests.items.length, 1)
})

t.test('a wait that is longer than what is left of the total time-out does so, too', async t => {
  const settings = 'retry: { max_wait: 8s }\ntimeouts: { total: 5s }\n'
  const { up, gateway } = await one(t, settings, says(503, { 'retry-after': '6' }))
  t.equal((await gateway.chat()).status, 503)
  t.equal(up.requests.items.length, 1)
})

t.test(
  'F-C2 a client that leaves during the wait: no upstream is asked again, and no connection is held meanwhile',
  async t => {
    const { up, gateway } = await one(t, 'retry: { max_wait: 8s }\n', says(429, { 'retry-after': '8' }))
    const client = await gateway.open('/v1/chat/completions', { body: CHAT })
    await up.requests.count(1)
    // Another request uses the connection that the waiting one had.
    up.answer(json(CHAT_ANSWER))
    t.equal((await gateway.chat()).status, 200)
    client.socket.destroy()
    const line = await gateway.log.find(line => line.msg === 'request' && line.status === 499)
    t.match(line, { outcome: 'client_abort', attempts: [{ phase: 'status', status: 429 }] })
    t.equal(up.requests.items.length, 2)
  },
)

t.test('a drain ends the wait: the client gets the failure', async t => {
  const { up, gateway } = await one(t, 'retry: { max_wait: 8s }\n', says(429, { 'retry-after': '8' }))
  const answer = gateway.chat()
  await up.closes.count(0)
  await up.requests.count(1)
  await gateway.gateway.close()
  t.equal((await answer).status, 429)
  t.equal(up.requests.items.length, 1)
})

t.test('F-U11 amplification: an upstream that fails every request gets at most a fifth more of them', async t => {
  const { up, gateway } = await one(t, 'retry: { max_wait: 1ms }\n', says(503))
  const REQUESTS = 400
  const batch = Array.from({ length: 20 })
  for (let sent = 0; sent < REQUESTS; sent += batch.length) {
    const answers = await Promise.all(batch.map(() => gateway.chat()))
    for (const { status } of answers) if (status !== 503) t.fail(`status ${status}`)
  }
  const seen = up.requests.items.length
  t.ok(seen > REQUESTS && seen <= REQUESTS * 1.2, `${seen} requests came of ${REQUESTS}`)
})

t.test('a first target that always fails takes nothing of the budget of the second', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  a.answer(says(503))
  b.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, targets([a.origin, b.origin], '{ budget: 1% }'))
  for (let call = 0; call < 50; call++) t.equal((await gateway.chat()).status, 200)
  t.equal(b.requests.items.length, 50)
})

t.test('an image that an upstream may have made is not asked for again', async t => {
  const body = { model: 'm', prompt: 'a cat' }
  for (const [script, asked] of [
    [says(500), 1],
    [says(504), 1],
    [reset, 1],
    [says(503), 3],
    [says(429), 3],
  ] as const) {
    const { up, gateway } = await one(t, 'retry: { max_wait: 1ms }\n', script)
    await gateway.request('/v1/images/generations', { body })
    t.equal(up.requests.items.length, asked)
  }
})

t.test('F-U6 nothing is asked again after the first event', async t => {
  const { up, gateway } = await one(t, 'retry: { max_wait: 1ms }\n', brokenStream([chatEvent('a')], reset))
  const answer = await gateway.chat({ stream: true })
  t.match(answer.text, '"a"')
  t.equal(up.requests.items.length, 1)
})

t.test('no connection, and no other target: the failure is sent once attempts are used up', async t => {
  const gateway = await startTestGateway(t, oneUpstream(await refusingOrigin()))
  compatibleError(t, await gateway.chat(), 502, 'upstream_unavailable')
  t.match(await gateway.log.find(line => line.msg === 'request'), { attempts: [{}, {}, {}] })
})

proveNoLeak(t)
