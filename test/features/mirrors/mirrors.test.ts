import t from 'tap'
import { mayCopy } from '../../../src/core/retry.js'
import { CHAT_ANSWER, chatEvent, DONE, hang, json, stream } from '../../helpers/answers.js'
import { startTestGateway, type TestGateway, upstreamYaml } from '../../helpers/gateway.js'
import { withResolvers } from '../../helpers/journal.js'
import { ledgerRecords } from '../../helpers/ledger-records.js'
import { tryPlan } from '../../helpers/plans.js'
import { type RawUpstream, startRawUpstream } from '../../helpers/raw-upstream.js'

type Test = Pick<typeof t, 'teardown'>

interface Started {
  readonly gateway: TestGateway
  readonly a: RawUpstream
  readonly b: RawUpstream
}

interface Options {
  readonly mirror?: string
  readonly key?: string
  readonly more?: string
  /** What else the mirror says. */
  readonly next?: string
  readonly ofA?: string
  readonly ofB?: string
}

/** The model `m` at `a`, and its mirror `next` at `b`, where it is called `theirs`. */
async function started(t: Test, options: Options = {}): Promise<Started> {
  const { mirror = '{ to: next }', key = 'models: [m]', more = '', next = '', ofA = '', ofB = '' } = options
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [a, b]) one.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(
    t,
    `version: 1
keys: { caller: { secret: { env: CALLER_KEY }, ${key} } }
upstreams:
  a: ${upstreamYaml(a.origin, ofA)}
  b: ${upstreamYaml(b.origin, ofB)}
models:
  m: { upstream: a, mirror: ${mirror} }
  next: { upstream: b, as: theirs${next} }
${more}`,
  )
  return { gateway, a, b }
}

/** Neither what makes or keeps something, nor forms, nor what costs nothing. */
const COPIED: readonly string[] = [
  'POST /model/{model}/converse',
  'POST /model/{model}/converse-stream',
  'POST /v1/audio/speech',
  'POST /v1/chat/completions',
  'POST /v1/completions',
  'POST /v1/embeddings',
  'POST /v1/messages',
  'POST /v1/models/{model}:batchEmbedContents',
  'POST /v1/models/{model}:embedContent',
  'POST /v1/models/{model}:generateContent',
  'POST /v1/models/{model}:streamGenerateContent',
  'POST /v1/moderations',
  'POST /v1/rerank',
  'POST /v1/responses',
  'POST /v1beta/models/{model}:batchEmbedContents',
  'POST /v1beta/models/{model}:embedContent',
  'POST /v1beta/models/{model}:generateContent',
  'POST /v1beta/models/{model}:streamGenerateContent',
  'POST /v2/rerank',
]

const isCopy = (line: Readonly<Record<string, unknown>>): boolean => line.mirror_of !== undefined
const ask = { model: 'm', messages: [{ role: 'user', content: 'hi' }] }

t.test('a copy goes to the mirror by the name that it has there, and has a log line of its own', async t => {
  const { gateway, a, b } = await started(t)
  const answer = await gateway.chat({ model: 'm' }, { headers: { 'x-request-id': 'the-original' } })
  t.equal(answer.status, 200)
  const [copy] = await b.requests.count(1)
  t.match(copy?.json(), { model: 'theirs' })
  const line = await gateway.log.find(isCopy)
  t.match(line, { mirror_of: 'the-original', model: 'next', upstream: 'b', key: 'caller', status: 200, outcome: 'ok' })
  t.not(line.id, 'the-original')
  t.equal(gateway.log.items.filter(one => one.msg === 'request').length, 2)
  t.equal(a.requests.items.length, 1)
})

t.test(
  'a copy has no idempotency key: at the upstream of its original it would be another request with it',
  async t => {
    const { gateway, a, b } = await started(t)
    t.equal((await gateway.chat({ model: 'm' }, { headers: { 'idempotency-key': 'one' } })).status, 200)
    const [copy] = await b.requests.count(1)
    t.equal(a.last.header('idempotency-key'), 'one')
    t.equal(copy?.header('idempotency-key'), undefined)
  },
)

t.test('the client does not wait for the mirror, and its leaving does not end the copy', async t => {
  const { gateway, a, b } = await started(t)
  const held = withResolvers<void>()
  b.answer(async peer => {
    await held.promise
    await json(CHAT_ANSWER)(peer)
  })
  t.equal((await gateway.chat({ model: 'm' })).status, 200)
  a.answer(hang)
  const client = await gateway.open('/v1/chat/completions', { body: ask })
  await b.requests.count(2)
  client.socket.destroy()
  await gateway.log.find(line => line.outcome === 'client_abort')
  held.resolve()
  t.match(await gateway.log.find(line => isCopy(line) && line.outcome === 'ok'), { status: 200 })
  await gateway.log.count(2, line => isCopy(line) && line.outcome === 'ok')
  t.equal(b.aborts.items.length, 0)
})

t.test('above the bound copies are dropped and counted', async t => {
  const { gateway, b } = await started(t, { mirror: '{ to: next, in_flight: 2 }' })
  b.answer(hang)
  for (let n = 0; n < 5; n++) t.equal((await gateway.chat({ model: 'm' })).status, 200)
  await b.requests.count(2)
  const ready = await gateway.request('/readyz?verbose')
  t.match(ready.json(), { mirrors: { m: '2 copied, 3 dropped, 2 under way' } })
  t.equal(b.requests.items.length, 2)
})

t.test('a place is free again when the mirror has answered, or failed', async t => {
  const { gateway, b } = await started(t, { mirror: '{ to: next, in_flight: 1 }' })
  b.answer(json(CHAT_ANSWER), json({ error: {} }, { status: 400 }), json(CHAT_ANSWER))
  for (let n = 1; n <= 3; n++) {
    await gateway.chat({ model: 'm' })
    await gateway.log.count(n, isCopy)
  }
  t.equal(b.requests.items.length, 3)
})

t.test('streams are copied and read to their end', async t => {
  const { gateway, a, b } = await started(t)
  for (const one of [a, b]) one.answer(stream([chatEvent('one'), chatEvent('two'), DONE]))
  t.match((await gateway.chat({ model: 'm', stream: true })).text, /two/)
  t.match(await gateway.log.find(isCopy), { stream: true, outcome: 'ok', events: 2 })
  t.equal(b.aborts.items.length, 0)
})

t.test('a share of the requests is copied', async t => {
  const { gateway, a, b } = await started(t, { mirror: '{ to: next, share: 25%, in_flight: 1000 }' })
  const count = 400
  for (let n = 0; n < count / 20; n++) {
    await Promise.all(Array.from({ length: 20 }, () => gateway.chat({ model: 'm' })))
  }
  t.equal(a.requests.items.length, count)
  const copies = b.requests.items.length
  t.ok(copies > 50 && copies < 150, `${copies} of ${count}, 100 ± 9 expected`)
})

t.test('repeated attempts of a request are copied once', async t => {
  const { gateway, a, b } = await started(t)
  a.answer(json({ error: {} }, { status: 503, headers: { 'retry-after': '0' } }), json(CHAT_ANSWER))
  t.equal((await gateway.chat({ model: 'm' })).status, 200)
  await gateway.log.find(isCopy)
  t.same([a.requests.items.length, b.requests.items.length], [2, 1])
})

t.test('a mirror of a mirror gets nothing', async t => {
  const { gateway, a, b } = await started(t, { next: ', mirror: { to: m }' })
  await gateway.chat({ model: 'm' })
  await gateway.log.find(isCopy)
  t.same([a.requests.items.length, b.requests.items.length], [1, 1])
})

t.test('the key pays nothing for a copy; limits and prices of the mirror hold', async t => {
  const { gateway, a, b } = await started(t, {
    key: 'models: [m], limits: { budget: 1000 USD/day, requests: 2/day }',
    ofB: 'limits: { requests: 1/day }',
    more: 'prices: { m: { input: 1, output: 1 }, theirs: { input: 1000, output: 1000 } }\n',
  })
  const used = { ...CHAT_ANSWER, usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }
  for (const one of [a, b]) one.answer(json(used))
  t.equal((await gateway.chat({ model: 'm' })).status, 200)
  t.equal((await gateway.log.find(isCopy)).status, 200)
  t.equal((await gateway.chat({ model: 'm' })).status, 200, 'the copy took none of the two requests')
  const refused = await gateway.log.find(line => isCopy(line) && line.status !== 200)
  t.match(refused, { status: 429, limit: 'requests' })
  t.same([a.requests.items.length, b.requests.items.length], [2, 1])
  const records = await ledgerRecords(gateway)
  const [original] = records.filter(one => one.mirror_of === undefined)
  const copies = records.filter(one => one.mirror_of !== undefined)
  t.equal(copies.length, 1)
  t.match(copies[0], { key: 'caller', model: 'next', target: 'theirs', cost: 15_000 })
  t.notOk(
    Object.keys(copies[0]?.charges ?? {}).some(name => name.startsWith('key')),
    'no budget of the key',
  )
  t.match(original, { cost: 15 })
})

t.test('a mirror outside of the regions of the key gets nothing', async t => {
  const { gateway, a, b } = await started(t, {
    key: 'models: [m, other], regions: [eu]',
    ofA: 'region: eu',
    ofB: 'region: us',
    more: '  other: { upstream: a, as: other, mirror: { to: m } }\n',
  })
  t.equal((await gateway.chat({ model: 'm' })).status, 200)
  // A copy that may go is sent after the one that may not.
  t.equal((await gateway.chat({ model: 'other' })).status, 200)
  t.equal((await gateway.log.find(isCopy)).status, 200)
  t.same([a.requests.items.length, b.requests.items.length], [3, 0])
})

t.test('a copy keeps no response, and what continues a conversation by its id is not copied', async t => {
  const { gateway, a, b } = await started(t)
  const create = await gateway.request('/v1/conversations', { body: {} })
  const { id } = create.json() as { id: string }
  const asked = { model: 'm', input: 'hi' }
  t.equal((await gateway.request('/v1/responses', { body: { ...asked, conversation: id } })).status, 200)
  t.equal((await gateway.request('/v1/responses', { body: asked })).status, 200)
  const line = await gateway.log.find(isCopy)
  t.equal(line.status, 200)
  t.same([a.requests.items.length, b.requests.items.length], [2, 1])
  t.notMatch(b.requests.items[0]?.json(), { store: true })
})

t.test('a response that the gateway runs in the background is not copied', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [a, b]) one.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(
    t,
    `version: 1
keys: { caller: { secret: { env: CALLER_KEY }, models: [m] } }
upstreams:
  a: { base: "${a.origin}", speaks: { chat: POST /v1/chat/completions } }
  b: ${upstreamYaml(b.origin)}
models: { m: { upstream: a, mirror: { to: next } }, next: b }
`,
  )
  const asked = { model: 'm', input: 'hi' }
  const begun = await gateway.request('/v1/responses', { body: { ...asked, background: true } })
  t.match(begun.json(), { background: true })
  await gateway.log.count(2, line => line.msg === 'request' && !isCopy(line))
  t.equal((await gateway.request('/v1/responses', { body: asked })).status, 200)
  await gateway.log.find(isCopy)
  t.same([a.requests.items.length, b.requests.items.length], [2, 1])
})

t.test('what makes something is not copied', async t => {
  const { gateway, a, b } = await started(t)
  a.answer(json({ created: 1, data: [{ b64_json: 'AAAA' }] }))
  t.equal((await gateway.request('/v1/images/generations', { body: { model: 'm', prompt: 'a cat' } })).status, 200)
  a.answer(json(CHAT_ANSWER))
  await gateway.chat({ model: 'm' })
  await gateway.log.find(isCopy)
  t.same([a.requests.items.length, b.requests.items.length], [2, 1])
})

t.test('the end of the process waits for copies', async t => {
  const { gateway, b } = await started(t)
  const held = withResolvers<void>()
  b.answer(async peer => {
    await held.promise
    await json(CHAT_ANSWER)(peer)
  })
  t.equal((await gateway.chat({ model: 'm' })).status, 200)
  await b.requests.count(1)
  let isClosed = false
  const closed = gateway.gateway.close().then(() => {
    isClosed = true
  })
  t.equal(gateway.gateway.health.draining, true)
  const answer = await gateway.request('/readyz').catch(() => undefined)
  t.notOk(isClosed, `a round trip later (${answer?.status}) the copy is still under way`)
  held.resolve()
  t.match(await gateway.log.find(isCopy), { status: 200, outcome: 'ok' })
  await closed
})

t.test('of the shipped routes these are copied', async t => {
  const yaml = `version: 1
keys: { me: { secret: { env: GATEWAY_KEY, generate: true } } }
upstreams: { sim: { kind: simulator } }
models: { "*": sim }
`
  const { plan } = await tryPlan(t, yaml)
  const routes = plan?.routes.filter(mayCopy).map(({ id }) => id) ?? []
  t.same(routes.toSorted(), COPIED)
})
