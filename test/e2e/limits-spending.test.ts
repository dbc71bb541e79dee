import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { LedgerRecord } from '../../src/core/ledger.js'
import { CHAT_ANSWER, chatEvent, chunk, DONE, hang, json, startStream, stream } from '../helpers/answers.js'
import { startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { withResolvers } from '../helpers/journal.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

/** What is charged for what became of a request: the ledger's records, written before the client has its last byte. */

interface Staged {
  readonly gateway: TestGateway
  readonly first: RawUpstream
  readonly second: RawUpstream
  readonly only: () => Promise<LedgerRecord>
}

const PRICES = `prices:
  chat/m: { input: 2.00, cached: 0.50, output: 8.00 }
  first/m: { input: 2.00, cached: 0.50, output: 8.00 }
  second/m: { input: 1.00, output: 4.00 }
`

/** The model `m` has two targets at prices of their own; the key's words and the rest are YAML. */
async function staged(t: Test, key = 'limits: { budget: 1 USD/day }', more = PRICES, upstream = ''): Promise<Staged> {
  const [first, second] = [await startRawUpstream(t), await startRawUpstream(t, { host: '127.0.0.2' })]
  const gateway = await startTestGateway(
    t,
    `version: 1
store: { type: file, path: ./data }
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], ${key} }
upstreams:
  first: ${upstreamYaml(first.origin, upstream)}
  second: ${upstreamYaml(second.origin)}
  chat: { base: "${first.origin}", speaks: { chat: POST /v1/chat/completions } }
models: { m: [{ upstream: first }, { upstream: second }], text: { upstream: chat, as: m } }
retry: { on: [500] }
${more}`,
  )
  const only = async (): Promise<LedgerRecord> => {
    const records = await ledgerRecords(gateway)
    t.equal(records.length, 1)
    return records[0] as LedgerRecord
  }
  return { gateway, first, second, only }
}

/** A whole answer with this usage. */
function answering(usage: object | undefined): Script {
  const { usage: _, ...answer } = CHAT_ANSWER
  return json(usage === undefined ? answer : { ...answer, usage })
}

const USAGE = {
  prompt_tokens: 100,
  completion_tokens: 50,
  total_tokens: 150,
  prompt_tokens_details: { cached_tokens: 40 },
  completion_tokens_details: { reasoning_tokens: 10 },
}
/** 60 tokens at 2.00, 40 at 0.50 and 50 at 8.00 USD a million. */
const COST = 60 * 2 + 40 * 0.5 + 50 * 8

t.test('a whole answer costs what its usage says, at the prices of the target', async t => {
  const { gateway, first, only } = await staged(
    t,
    'group: team, limits: { budget: 1 USD/day }',
    `${PRICES}groups: { team: {} }\n`,
  )
  first.answer(answering(USAGE))
  t.equal((await gateway.chat()).status, 200)
  const { id, at, charges, ...record } = await only()
  t.match(id, /^[\w-]+\/1$/)
  t.match(record, {
    ...{ key: 'caller', group: 'team', model: 'm', upstream: 'first', route: 'POST /v1/chat/completions' },
    units: { input: 60, cached: 40, output: 40, reasoning: 10 },
    ...{ cost: COST, outcome: 'ok', generation: 1 },
  })
  t.equal(record.estimated, undefined)
  t.strictSame(charges, { [`key:caller budget day ${new Date(at).toISOString().slice(0, 10)}`]: COST })
})

t.test('a request with more input than a step of the price costs the prices of that step, all of it', async t => {
  const steps = 'above: { 0.15k: { input: 8.00 }, 99: { input: 4.00, cached: 1.00 } }'
  const price = PRICES.replace(/(first.*) }/, `$1, ${steps} }`)
  const { gateway, first } = await staged(t, undefined, price)
  const counts = [99, 100, 151]
  first.answer(...counts.map(count => answering({ ...USAGE, prompt_tokens: count, total_tokens: count + 50 })))
  for (const _ of counts) t.equal((await gateway.chat()).status, 200)
  const records = await ledgerRecords(gateway)
  t.strictSame(
    records.map(({ cost }) => cost),
    [59 * 2 + 40 * 0.5 + 50 * 8, 60 * 4 + 40 * 1 + 50 * 8, 111 * 8 + 40 * 0.5 + 50 * 8],
  )
})

t.test('a step that a request may reach is in its reservation', async t => {
  const price =
    'prices: { first/m: { input: 1.00, output: 1.00, above: { 50: { output: 100.00 } } }, second/m: &none { request: 0 }, chat/m: *none }\n'
  const { gateway, first } = await staged(t, 'limits: { budget: 0.01 USD/day }', price)
  first.answer(answering(USAGE))
  t.equal((await gateway.chat({ max_tokens: 200 })).status, 429, '200 tokens may cost 0.02 USD')
  t.equal((await gateway.chat({ max_tokens: 90 })).status, 200)
})

t.test('F-A8 a stream is charged by its usage', async t => {
  const { gateway, first, only } = await staged(t)
  const last = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage: USAGE })}\n\n`
  first.answer(stream([chatEvent('a'), last, DONE]))
  t.equal((await gateway.chat({ stream: true })).status, 200)
  t.equal((await only()).cost, COST)
})

t.test('F-A8 a stream without usage is counted here, and never above what was reserved', async t => {
  const { gateway, first, only } = await staged(t)
  first.answer(stream([...Array.from({ length: 20 }, () => chatEvent('some words of an answer')), DONE]))
  t.equal((await gateway.chat({ stream: true, max_tokens: 10 })).status, 200)
  const { units, cost, estimated } = await only()
  t.equal(estimated, true)
  t.equal(units.output, 10, 'the request allowed no more')
  t.equal(cost, (units.input ?? 0) * 2 + 10 * 8)
})

t.test('F-A8 a client that leaves in mid-stream pays for what it got', async t => {
  const { gateway, first } = await staged(t)
  first.answer(async peer => {
    await startStream(peer)
    for (let count = 0; count < 8; count++) await peer.send(chunk(chatEvent('word')))
    await hang(peer)
  })
  const client = await gateway.open('/v1/chat/completions', {
    body: { model: 'm', messages: [{ role: 'user', content: 'hello' }], stream: true },
  })
  await client.body(await client.head(), body => body.toString().split('word').length > 8)
  client.socket.destroy()
  await gateway.log.find(line => line.msg === 'request')
  const record = await found(gateway)
  t.match(record, { outcome: 'cancelled', estimated: true })
  t.ok((record.units.output ?? 0) >= 8, `${record.units.output}`)
  t.ok(record.cost > 0)
})

t.test(
  'F-A8 a client that leaves pays for about as many tokens as it got, and not for what is around them',
  async t => {
    const { gateway, first } = await staged(t)
    // Of 285 bytes, as those of servers that write one token in each.
    const event = chatEvent(' word').replace('"choices"', `"system_fingerprint":"${'f'.repeat(110)}","choices"`)
    const left: Script = async peer => {
      await startStream(peer)
      for (let count = 0; count < 12; count++) await peer.send(chunk(event))
      await hang(peer)
    }
    const usage = { prompt_tokens: 10, completion_tokens: 60, total_tokens: 70 }
    const last = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [], usage })}\n\n`
    first.answer(left, stream([...Array.from({ length: 60 }, () => event), last, DONE]), left)
    const leave = async (): Promise<void> => {
      const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }], stream: true }
      const client = await gateway.open('/v1/chat/completions', { body })
      await client.body(await client.head(), got => got.toString().split('word').length > 12)
      client.socket.destroy()
    }
    await leave()
    await gateway.log.find(line => line.msg === 'request')
    t.equal((await gateway.chat({ stream: true })).status, 200)
    await leave()
    const { plan } = gateway.gateway
    await gateway.gateway.close()
    const outputs = (await ledgerRecords({ gateway: { plan } })).map(({ units }) => units.output ?? 0)
    const [unknown = 0, whole, known = 0] = outputs
    t.equal(whole, 60)
    t.ok(unknown >= 12 && unknown <= 25, `nothing is known of the target: ${unknown}`)
    t.ok(known >= 12 && known <= 14, `one stream of it was whole: ${known}`)
  },
)

t.test('F-A8 a client that leaves pays for what it got, though the first event says one token', async t => {
  const upstream = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
store: { type: file, path: ./data }
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
upstreams: { up: { base: "${upstream.origin}", speaks: { messages: POST /v1/messages } } }
models: { m: up }
prices: { m: { input: 2.00, output: 8.00 } }
`,
  )
  const event = (type: string, rest: object) => chunk(`event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`)
  const usage = { input_tokens: 30, output_tokens: 1 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], usage }
  upstream.answer(async peer => {
    await startStream(peer)
    await peer.send(event('message_start', { message }))
    await peer.send(event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }))
    const delta = { type: 'text_delta', text: 'a word and a few others' }
    for (let count = 0; count < 20; count++) await peer.send(event('content_block_delta', { index: 0, delta }))
    await hang(peer)
  })
  const body = { model: 'm', max_tokens: 1000, messages: [{ role: 'user', content: 'hello' }], stream: true }
  const client = await gateway.open('/v1/messages', { body, headers: { 'anthropic-version': '2023-06-01' } })
  await client.body(await client.head(), bytes => bytes.toString().split('word').length > 20)
  client.socket.destroy()
  const { outcome, units, estimated } = await found(gateway)
  t.match({ outcome, estimated }, { outcome: 'cancelled', estimated: true })
  t.equal(units.input, 30)
  t.ok((units.output ?? 0) >= 60 && (units.output ?? 0) <= 130, `six tokens an event: ${units.output}`)
})

t.test('F-A8 a client that leaves before the first byte pays for the input that was sent', async t => {
  const { gateway, first } = await staged(t)
  const asked = first.requests.find(() => true)
  first.answer(hang)
  const client = await gateway.open('/v1/chat/completions', {
    body: { model: 'm', messages: [{ role: 'user', content: 'hello' }] },
  })
  await asked
  client.socket.destroy()
  const { outcome, units, cost } = await found(gateway)
  t.equal(outcome, 'cancelled')
  t.strictSame(Object.keys(units), ['input'])
  t.equal(cost, (units.input ?? 0) * 2)
})

t.test(
  'F-A8 a fallback is charged at the price of the target that answered; the failed attempt costs nothing',
  async t => {
    const { gateway, first, second, only } = await staged(t)
    first.answer(json({ error: { message: 'broken' } }, { status: 500 }))
    second.answer(answering(USAGE))
    t.equal((await gateway.chat()).status, 200)
    t.match(await only(), { upstream: 'second', cost: 100 * 1 + 50 * 4 })
  },
)

t.test('F-A8 n and max_tokens are in the reservation', async t => {
  const { gateway, first } = await staged(t)
  first.answer(answering(USAGE), answering(USAGE))
  t.equal((await gateway.chat({ max_tokens: 1000, n: 1000 })).status, 429)
  t.equal((await gateway.chat({ max_completion_tokens: 1_000_000 })).status, 429)
  t.equal(
    (
      await gateway.request('/v1/chat/completions', {
        body: '{"model":"m","messages":[{"role":"user","content":"a"}],"max\\u005ftokens":1000000}',
      })
    ).status,
    429,
  )
  t.equal((await gateway.chat({ max_tokens: 1000, n: 2 })).status, 200)
  t.equal(first.requests.items.length, 1)
})

t.test('a message client before an upstream of another protocol is charged the same', async t => {
  const { gateway, first, only } = await staged(t)
  first.answer(answering(USAGE))
  const body = { model: 'text', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] }
  const headers = { 'anthropic-version': '2023-06-01' }
  const answer = await gateway.request('/v1/messages', { body, headers })
  t.equal(answer.status, 200, answer.text)
  t.match(await only(), { route: 'POST /v1/messages', upstream: 'chat', target: 'm', cost: COST })
})

t.test('an answer without usage is counted here; embeddings have an input alone', async t => {
  const { gateway, first, only } = await staged(t)
  first.answer(json({ object: 'list', model: 'm', data: [{ object: 'embedding', index: 0, embedding: [0.5] }] }))
  t.equal((await gateway.request('/v1/embeddings', { body: { model: 'm', input: 'hello' } })).status, 200)
  const { units, estimated } = await only()
  t.strictSame(Object.keys(units), ['input'])
  t.equal(estimated, true)
})

t.test('counting tokens is free', async t => {
  const { gateway } = await staged(t)
  const body = { model: 'm', messages: [{ role: 'user', content: 'hello' }] }
  const answer = await gateway.request('/v1/messages/count_tokens', {
    body,
    headers: { 'anthropic-version': '2023-06-01' },
  })
  t.equal(answer.status, 200, answer.text)
  t.strictSame(await ledgerRecords(gateway), [])
})

t.test('a target that its own bound shuts is passed over, and refused where no other is left', async t => {
  const { gateway, first, second } = await staged(t, 'strict: false', PRICES, 'limits: { requests: 1/day }')
  first.answer(answering(USAGE))
  second.answer(answering(USAGE), json({ error: { message: 'broken' } }, { status: 500 }))
  t.equal((await gateway.chat()).status, 200)
  t.equal((await gateway.chat()).status, 200)
  t.strictSame([first.requests.items.length, second.requests.items.length], [1, 1])
})

t.test('a bound of an upstream queues where it says so', async t => {
  const { gateway, first } = await staged(t, 'strict: false', PRICES, 'limits: { in_flight: 1, queue: 10s }')
  let release: () => void = () => undefined
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  first.answer(async peer => {
    await held
    await answering(USAGE)(peer)
  }, answering(USAGE))
  const asked = first.requests.find(() => true)
  const one = gateway.chat()
  await asked
  const other = gateway.chat()
  release()
  t.strictSame([(await one).status, (await other).status], [200, 200])
  t.equal(first.requests.items.length, 2)
})

t.test('a budget refuses what has no price, where it says so', async t => {
  const { gateway, first } = await staged(t, 'limits: { budget: 1 USD/day, unpriced: refuse }', 'prices: off\n')
  const answer = await gateway.chat()
  t.equal(answer.status, 403, answer.text)
  t.equal(first.requests.items.length, 0)
})

/** The first record, once it is written: the gateway's end writes what is left. */
async function found(gateway: TestGateway): Promise<LedgerRecord> {
  const { plan } = gateway.gateway
  await gateway.gateway.close()
  const [record] = await ledgerRecords({ gateway: { plan } })
  if (record === undefined) throw new Error('no record was written')
  return record
}

t.test('a request that falls back after a reload leaves others the bounds that hold now', async t => {
  for (const [former, serving, passes] of [
    ['0.01', '0.0006', 429],
    ['0.0006', '0.01', 200],
  ] as const) {
    const { gateway, first, second } = await staged(t, `limits: { budget: ${former} USD/day, max_output: 2 }`)
    const { promise: reloaded, resolve } = withResolvers<void>()
    first.answer(async peer => {
      await reloaded
      await json({}, { status: 500 })(peer)
    }, answering(USAGE))
    second.answer(answering({ prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }))
    const earlier = gateway.chat({ max_tokens: 2 })
    await first.connections.count(1)
    const file = join(gateway.folder, 'gateway.yaml')
    await gateway.write('gateway.yaml', (await readFile(file, 'utf8')).replace(`${former} USD`, `${serving} USD`))
    await gateway.gateway.reload()
    resolve()
    t.equal((await earlier).status, 200)
    t.equal((await gateway.chat({ max_tokens: 2 })).status, 200)
    t.equal((await gateway.chat({ max_tokens: 2 })).status, passes, `${former} to ${serving}`)
  }
})

t.test('infinite and negative numbers at a path of characters pass no budget and spoil no ledger', async t => {
  const up = await startRawUpstream(t)
  up.answer(json({ ok: true }))
  const gateway = await startTestGateway(
    t,
    `version: 1
store: { type: file, path: ./data }
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { budget: 0.01 USD/day, tokens: 1M/day } }
protocols: { say: { amounts: { characters: [input, instructions] }, binary: true } }
upstreams: { first: { base: "${up.origin}", speaks: { say: POST /say } } }
models: { m: first }
prices: { first/m: { character: 0.001 } }
routes: { POST /v1/say: { protocol: say, model: body.model } }
`,
  )
  const say = async (input: string, more = ''): Promise<number> => {
    const body = `{"model":"m","input":${input}${more}}`
    return (await gateway.request('/v1/say', { body })).status
  }
  for (const [input, more] of [
    ['1e999', ''],
    [`"${'x'.repeat(10_000)}"`, ',"instructions":-1e999'],
    ['1e999', ',"instructions":-1e999'],
  ] as const)
    t.equal(await say(input, more), 429, input.slice(0, 9))
  t.equal(await say('-1e999'), 200, 'nothing is said')
  t.equal(await say('"hello"'), 200, 'and the account is as it was')
  const records = await ledgerRecords(gateway)
  t.equal(
    records.reduce((sum, { cost }) => sum + cost, 0),
    5000,
  )
  t.same(
    records.flatMap(({ units }) => units.character ?? []),
    [5],
  )
})
