import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import type { Answer } from '../helpers/raw-client.js'
import type { Script } from '../helpers/raw-upstream.js'
import { sample } from '../helpers/sample.js'
import { CLIENTS, EACH_CLIENT, PROTOCOLS, type Protocol, type TextClient } from '../helpers/text-clients.js'
import { isStream, streams, type TextUpstream, upstreamOf } from '../helpers/text-upstreams.js'
import { type Stage, startStage, translated } from '../helpers/translation-stage.js'

// What an upstream advises its clients beside the answer: rate limits, waits, whether to try again. It arrives in the
// terms of the client's family, on answers and on errors.

t.setTimeout(300_000)

const SECRET = canary('upstream')

/** Upstreams as operators declare them: by kind. */
const UPSTREAMS = `
  by-chat: { kind: openai-compatible, base: "ORIGIN", secret: { env: UPSTREAM_KEY } }
  by-responses: { kind: bearer, base: "ORIGIN", secret: { env: UPSTREAM_KEY }, speaks: { responses: POST /v1/responses } }
  by-messages: { kind: messages, base: "ORIGIN", secret: { env: UPSTREAM_KEY }, traits: { max_output: 4096 } }
  by-generate: { kind: native-generate, base: "ORIGIN", secret: { env: UPSTREAM_KEY } }
  by-converse: { kind: bedrock-key, base: "ORIGIN", secret: { env: UPSTREAM_KEY } }
`
const MODELS = PROTOCOLS.map(protocol => `  "by-${protocol}-*": by-${protocol}\n`).join('')
const STAGE = { env: { UPSTREAM_KEY: SECRET }, upstreams: UPSTREAMS.slice(1), models: MODELS }

const PAST = '2026-01-01T00:00:00Z'

/** What upstreams of each protocol tell of their limits. */
const COMPATIBLE = {
  'x-ratelimit-limit-requests': '100',
  'x-ratelimit-remaining-requests': '7',
  'x-ratelimit-reset-requests': '1m30s',
  'x-ratelimit-limit-tokens': '4000',
  'x-ratelimit-remaining-tokens': '33',
  'x-ratelimit-reset-tokens': '4ms',
  'x-ratelimit-limit-input-images': '5',
}
const TOLD: Readonly<Record<Protocol, Readonly<Record<string, string>>>> = {
  chat: COMPATIBLE,
  responses: COMPATIBLE,
  messages: {
    'anthropic-ratelimit-requests-limit': '100',
    'anthropic-ratelimit-requests-remaining': '7',
    'anthropic-ratelimit-requests-reset': PAST,
    'anthropic-ratelimit-tokens-limit': '4000',
    'anthropic-ratelimit-tokens-remaining': '33',
    'anthropic-ratelimit-tokens-reset': PAST,
    'anthropic-ratelimit-input-tokens-limit': '3000',
    'anthropic-ratelimit-unified-status': 'allowed',
  },
  generate: {},
  converse: {},
}
/** Families whose clients read no headers of limits, nor whether to try again. */
const WITHOUT: ReadonlySet<Protocol> = new Set(['generate', 'converse'])

/** What clients read, by family. A reset that is a moment depends on the time of the test. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/
type Heard = Readonly<Record<string, string | RegExp>>

function heard(client: Protocol, upstream: Protocol): Heard {
  if (WITHOUT.has(upstream) || WITHOUT.has(client)) return {}
  if (client === 'messages') {
    return {
      'anthropic-ratelimit-requests-limit': '100',
      'anthropic-ratelimit-requests-remaining': '7',
      'anthropic-ratelimit-requests-reset': MOMENT,
      'anthropic-ratelimit-tokens-limit': '4000',
      'anthropic-ratelimit-tokens-remaining': '33',
      'anthropic-ratelimit-tokens-reset': MOMENT,
    }
  }
  if (upstream !== 'messages') return COMPATIBLE
  const { 'x-ratelimit-limit-input-images': _, ...both } = COMPATIBLE
  return { ...both, 'x-ratelimit-reset-requests': '0s', 'x-ratelimit-reset-tokens': '0s' }
}

function hears(t: Test, answer: Answer, wanted: Heard, where: string): void {
  const told = Object.fromEntries(answer.head.fields.filter(([name]) => /ratelimit/i.test(name)))
  t.same(Object.keys(told).sort(), Object.keys(wanted).sort(), where)
  t.match(told, wanted, where)
}

/** An upstream that gives these headers with whatever it answers. */
function advising(upstream: TextUpstream, headers: Readonly<Record<string, string>>): Script {
  return peer => (isStream(peer) ? streams({ ...upstream, headers })(peer) : json(upstream.answer, { headers })(peer))
}

async function both(stage: Stage, client: TextClient, protocol: Protocol, script: Script): Promise<readonly Answer[]> {
  return Promise.all([false, true].map(stream => stage.ask(client, stage.play(`by-${protocol}`, script), stream)))
}

const PAIRS = translated(CLIENTS)

t.test('on answers', async t => {
  const stage = await startStage(t, STAGE)
  for (const [client, protocol] of PAIRS) {
    await t.test(`${client.name} ← ${protocol}: limits come by the names of the client's family`, async t => {
      const headers = { ...TOLD[protocol], 'retry-after': '7' }
      for (const answer of await both(stage, client, protocol, advising(upstreamOf(protocol), headers))) {
        t.equal(answer.status, 200)
        hears(t, answer, heard(client.protocol, protocol), answer.text.slice(0, 40))
      }
    })
  }

  for (const client of EACH_CLIENT) {
    await t.test(`${client.name} ← ${client.protocol}: what is relayed is as it came`, async t => {
      const { protocol } = client
      for (const answer of await both(stage, client, protocol, advising(upstreamOf(protocol), TOLD[protocol])))
        hears(t, answer, TOLD[protocol], 'as it came')
    })
  }

  await t.test('limits that cannot be read, or are written twice, are none', async t => {
    const odd = {
      'x-ratelimit-limit-requests': 'many',
      'x-ratelimit-reset-requests': 'soon',
      'x-ratelimit-limit-tokens': '5',
    }
    const client = EACH_CLIENT[2]
    for (const answer of await both(stage, client, 'chat', advising(upstreamOf('chat'), odd)))
      hears(t, answer, { 'anthropic-ratelimit-tokens-limit': '5' }, 'what can be read')
  })
})

/** The word of each family for a status, and the status by which it says that. */
const WORDS: Readonly<Record<number, Readonly<Record<Protocol, readonly [number, string]>>>> = {
  429: {
    chat: [429, 'rate_limit_exceeded'],
    responses: [429, 'rate_limit_exceeded'],
    messages: [429, 'rate_limit_error'],
    generate: [429, 'RESOURCE_EXHAUSTED'],
    converse: [429, 'ThrottlingException'],
  },
  500: {
    chat: [500, 'upstream_failed'],
    responses: [500, 'upstream_failed'],
    messages: [500, 'api_error'],
    generate: [500, 'INTERNAL'],
    converse: [500, 'InternalServerException'],
  },
  503: {
    chat: [503, 'upstream_failed'],
    responses: [503, 'upstream_failed'],
    messages: [529, 'overloaded_error'],
    generate: [503, 'UNAVAILABLE'],
    converse: [503, 'ServiceUnavailableException'],
  },
  504: {
    chat: [504, 'upstream_failed'],
    responses: [504, 'upstream_failed'],
    messages: [504, 'timeout_error'],
    generate: [504, 'DEADLINE_EXCEEDED'],
    converse: [504, 'ModelTimeoutException'],
  },
  529: {
    chat: [503, 'upstream_failed'],
    responses: [503, 'upstream_failed'],
    messages: [529, 'overloaded_error'],
    generate: [503, 'UNAVAILABLE'],
    converse: [503, 'ServiceUnavailableException'],
  },
  520: {
    chat: [502, 'upstream_failed'],
    responses: [502, 'upstream_failed'],
    messages: [502, 'api_error'],
    generate: [502, 'INTERNAL'],
    converse: [502, 'InternalServerException'],
  },
}

interface Waiting {
  readonly error?: { readonly type?: string; readonly details?: readonly { readonly retryDelay?: string }[] }
}

const REFUSALS = Object.keys(WORDS).flatMap(status => PAIRS.map(pair => ({ status, pair })))

t.test('on errors', async t => {
  const stage = await startStage(t, STAGE)
  const refusals = sample('refusals of upstreams to clients', REFUSALS, REFUSALS.length / 3)
  for (const [written, families] of Object.entries(WORDS)) {
    const status = Number(written)
    await t.test(`${status}: status, word, words, waits, limits and whether to try again`, async t => {
      for (const [client, protocol] of refusals.filter(one => one.status === written).map(({ pair }) => pair)) {
        const headers = { ...TOLD[protocol], 'retry-after-ms': '6500', 'retry-after': '7', 'x-should-retry': 'false' }
        const refusal = json(upstreamOf(protocol).refusal('not now'), { status, headers })
        for (const answer of await both(stage, client, protocol, refusal)) {
          const where = `${client.name} ← ${protocol}`
          const [shown, word] = families[client.protocol]
          const told = client.error(t, answer, shown)
          t.equal(told.message, 'not now', where)
          t.equal(told.word, word, where)
          t.equal(answer.header('retry-after'), '7', where)
          t.equal(answer.header('retry-after-ms'), '6500', where)
          t.equal(answer.header('x-should-retry'), WITHOUT.has(client.protocol) ? undefined : 'false', where)
          hears(t, answer, heard(client.protocol, protocol), where)
          const { type, details } = (answer.json() as Waiting).error ?? {}
          if (client.protocol === 'generate') t.equal(details?.[0]?.retryDelay, '6.5s', where)
          else t.equal(details, undefined)
          if (client.protocol === 'chat') t.equal(type, status === 429 ? 'requests' : 'server_error')
        }
      }
    })
  }

  await t.test('whole seconds need no milliseconds', async t => {
    const client = EACH_CLIENT[0]
    const refusal = json(upstreamOf('messages').refusal('wait'), { status: 429, headers: { 'retry-after': '7' } })
    for (const answer of await both(stage, client, 'messages', refusal)) {
      t.equal(answer.header('retry-after'), '7')
      t.equal(answer.header('retry-after-ms'), undefined)
    }
  })

  await t.test('a quota that is used up is distinguished from a rate', async t => {
    const used = { code: 'insufficient_quota', type: 'insufficient_quota' }
    const refusal = json(upstreamOf('chat').refusal('no credit', used), { status: 429 })
    for (const answer of await both(stage, EACH_CLIENT[1], 'chat', refusal))
      t.match(answer.json(), { error: { type: 'insufficient_quota', code: 'insufficient_quota' } })
    for (const answer of await both(stage, EACH_CLIENT[2], 'chat', refusal))
      t.match(answer.json(), { error: { type: 'rate_limit_error', message: 'no credit' } })
  })

  await t.test('errors that an answer with status 200 begins with carry the limits of its head', async t => {
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      if (protocol === 'responses') continue // its failure is in a response that has begun
      const upstream = { ...upstreamOf(protocol), headers: TOLD[protocol] }
      const script = streams(upstream, [upstream.failure('not now')])
      for (const answer of await both(stage, client, protocol, script)) {
        t.ok(answer.status >= 500, `${client.name} ← ${protocol}: ${answer.status}`)
        t.equal(client.error(t, answer, answer.status).message, 'not now')
        hears(t, answer, heard(client.protocol, protocol), `${client.name} ← ${protocol}`)
      }
      const whole = json(upstream.refusal('not now'), { headers: TOLD[protocol] })
      for (const answer of await both(stage, client, protocol, whole)) {
        t.ok(answer.status >= 400, `${client.name} ← ${protocol}: ${answer.status}`)
        t.equal(client.error(t, answer, answer.status).message, 'not now', `${client.name} ← ${protocol}, whole`)
        hears(t, answer, heard(client.protocol, protocol), `${client.name} ← ${protocol}, whole`)
      }
    }
  })

  await t.test('a wait in the head of an answer that begins with an overload is that of the error', async t => {
    const overload = '{"type":"error","error":{"type":"overloaded_error","message":"full"}}'
    for (const [headers, wait] of [
      [{ 'retry-after': '7' }, '7'],
      [{}, undefined],
    ] as const) {
      const upstream = { ...upstreamOf('messages'), headers }
      const script = streams(upstream, [upstream.piece(overload, 'error')])
      for (const answer of await both(stage, EACH_CLIENT[0], 'messages', script)) {
        t.equal(EACH_CLIENT[0].error(t, answer, 503).message, 'full')
        t.equal(answer.header('retry-after'), wait)
      }
    }
  })

  await t.test('errors in the middle of a stream: the word of the family, behind a head with the limits', async t => {
    for (const [client, protocol] of PAIRS) {
      const upstream = { ...upstreamOf(protocol), headers: TOLD[protocol] }
      const pieces = [...upstream.pieces.slice(0, upstream.enough - 2), upstream.failure('not now')]
      const answer = await stage.ask(client, stage.play(`by-${protocol}`, streams(upstream, pieces)), true)
      t.equal(answer.status, 200)
      hears(t, answer, heard(client.protocol, protocol), `${client.name} ← ${protocol}`)
      const { good, errors, trailing } = client.ending(answer)
      t.same({ good, trailing }, { good: 0, trailing: false }, `${client.name} ← ${protocol}`)
      t.equal(errors[0]?.message, 'not now', `${client.name} ← ${protocol}`)
    }
  })

  /** An overload and a limit, as streams of each protocol tell of them. */
  const IN_STREAMS: readonly (readonly [Protocol, string, string | undefined, number])[] = [
    ['messages', '{"type":"error","error":{"type":"overloaded_error","message":"full"}}', 'error', 529],
    ['messages', '{"type":"error","error":{"type":"rate_limit_error","message":"full"}}', 'error', 429],
    ['generate', '{"error":{"code":503,"message":"full","status":"UNAVAILABLE"}}', undefined, 503],
    ['generate', '{"error":{"code":429,"message":"full","status":"RESOURCE_EXHAUSTED"}}', undefined, 429],
    [
      'chat',
      '{"error":{"message":"full","type":"requests","param":null,"code":"rate_limit_exceeded"}}',
      undefined,
      429,
    ],
    ['converse', '{"message":"full"}', 'throttlingException', 429],
    ['converse', '{"message":"full"}', 'serviceUnavailableException', 503],
  ]
  for (const [protocol, data, event, status] of IN_STREAMS) {
    await t.test(`${status} in a stream of ${protocol} is reported in the word of the family`, async t => {
      for (const client of CLIENTS.filter(one => one.protocol !== protocol)) {
        const upstream = upstreamOf(protocol)
        const pieces = [...upstream.pieces.slice(0, upstream.enough - 2), upstream.piece(data, event)]
        const answer = await stage.ask(client, stage.play(`by-${protocol}`, streams(upstream, pieces)), true)
        const [failure] = client.ending(answer).errors
        t.same(failure && [failure.message, failure.word], ['full', WORDS[status]?.[client.protocol][1]], client.name)
      }
    })
  }
})

t.test('F-D2 words of upstreams come without credentials and addresses', async t => {
  const stage = await startStage(t, STAGE)
  const cases: readonly (readonly [string, string])[] = [
    [`the key ${SECRET} is new`, 'the key [hidden] is new'],
    [
      'see https://files.example/a?alt=media&key=AIzaSyA-1234567 for more',
      'see https://files.example/a?alt=media&key=[hidden] for more',
    ],
    ['proxy http://user:pass@proxy.example:8080/ said no', 'proxy http://[hidden]@proxy.example:8080/ said no'],
    ['got Authorization: Bearer abcdefghijklmnop1234', 'got Authorization: Bearer [hidden]'],
    ['Incorrect key sk-proj-abcdefgh12345678', 'Incorrect key [hidden]'],
    ['AIzaSyA1234567890abcdef, or eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abc-12.', '[hidden], or [hidden].'],
    ['AKIAABCDEFGHIJKLMNOP: user=me password=hunter2secret', '[hidden]: user=me password=[hidden]'],
    ['basic authentication of the bearer is missing', 'basic authentication of the bearer is missing'],
    ['connect to ORIGIN failed', 'connect to http://[hidden] failed'],
    [`${'x'.repeat(3990)}${SECRET}`, `${'x'.repeat(3990)}[hidden]`],
  ]
  const pairs = translated(EACH_CLIENT)
  const all = cases.flatMap(([said, shown]) => pairs.map(pair => ({ said, shown, pair })))
  const drawn = sample('words of upstreams to clients', all, all.length / 3)
  for (const [said, shown] of cases) {
    await t.test(shown.slice(0, 60), async t => {
      const words = said.replace('ORIGIN', stage.upstream.origin)
      for (const { pair } of drawn.filter(one => one.said === said)) {
        const [client, protocol] = pair
        const upstream = upstreamOf(protocol)
        for (const status of [400, 429, 503]) {
          const refusal = json(upstream.refusal(words), { status })
          for (const answer of await both(stage, client, protocol, refusal))
            t.equal(client.error(t, answer, answer.status).message, shown, `${client.name} ← ${protocol} ${status}`)
        }
        for (const before of [0, 2]) {
          const script = streams(upstream, [...upstream.pieces.slice(0, before), upstream.failure(words)])
          const streamed = await stage.ask(client, stage.play(`by-${protocol}`, script), true)
          const told =
            streamed.status === 200 ? client.ending(streamed).errors[0] : client.error(t, streamed, streamed.status)
          t.equal(told?.message, shown, `${client.name} ← ${protocol}, after ${before}`)
          const whole = await stage.ask(client, stage.play(`by-${protocol}`, script), false)
          t.equal(client.error(t, whole, whole.status).message, shown, `${client.name} ← ${protocol}, added up`)
        }
        const inside = json(upstream.refusal(words))
        const answer = await stage.ask(client, stage.play(`by-${protocol}`, inside), false)
        t.equal(client.error(t, answer, answer.status).message, shown, `${client.name} ← ${protocol}, with 200`)
      }
    })
  }
})

proveNoLeak(t)
