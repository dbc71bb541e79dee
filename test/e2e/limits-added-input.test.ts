import t, { type Test } from 'tap'
import type { LedgerRecord } from '../../src/core/ledger.js'
import { json } from '../helpers/answers.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'
import { sample, startMediaHost } from '../net/media-host.js'

/** Reservations cover what the gateway adds to what its client sent: conversations that it keeps, and media that it fetches. */

const SPEAKS = {
  chat: 'chat: POST /v1/chat/completions',
  responses: 'responses: POST /v1/responses',
  messages: 'messages: POST /v1/messages',
} as const
/** A token costs a millionth of a USD, read or written. */
const PRICES = 'prices: { m: { input: 1.00, output: 1.00 } }'

interface Stage {
  readonly gateway: TestGateway
  readonly up: RawUpstream
}

async function staged(
  t: Test,
  speaks: keyof typeof SPEAKS,
  limits: string,
  { more = '', traits = '' }: { readonly more?: string; readonly traits?: string } = {},
): Promise<Stage> {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
store: { type: file, path: ./data }
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { ${limits} } } }
upstreams: { up: { base: "${up.origin}", speaks: { ${SPEAKS[speaks]} }${traits} } }
models: { m: up }
${PRICES}
${more}`,
  )
  return { gateway, up }
}

async function charged({ gateway }: TestGateway): Promise<readonly LedgerRecord[]> {
  const { plan } = gateway
  await gateway.close()
  return ledgerRecords({ gateway: { plan } })
}

/** The characters of all texts in a request: no model reads more tokens. */
function textOf(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  return Object.values(value).reduce((sum: number, one) => sum + textOf(one), 0)
}

const SAID = 'word '.repeat(200)
const WRITTEN = 300

/** Counts a token for each character that it was sent, and writes as much as the client allowed. */
const chatting: Script = peer => {
  const read = textOf((peer.request.json() as { messages: unknown }).messages)
  return json({
    ...{ id: 'c', object: 'chat.completion', created: 1, model: 'm' },
    choices: [{ index: 0, message: { role: 'assistant', content: SAID }, finish_reason: 'stop' }],
    usage: { prompt_tokens: read, completion_tokens: WRITTEN, total_tokens: read + WRITTEN },
  })(peer)
}

/** The same in the protocol of the client. */
const responding: Script = peer => {
  const read = textOf((peer.request.json() as { input: unknown }).input)
  const content = [{ type: 'output_text', text: SAID, annotations: [] }]
  return json({
    ...{ id: 'resp_theirs', object: 'response', status: 'completed', created_at: 1, model: 'm' },
    output: [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }],
    usage: { input_tokens: read, output_tokens: WRITTEN, total_tokens: read + WRITTEN },
  })(peer)
}

const BUDGET = 13_000

/** Continues a conversation until the budget refuses: what was spent, and how many turns that took. */
async function spent({ gateway, up }: Stage, next: (id: string | undefined) => object): Promise<readonly number[]> {
  let id: string | undefined
  for (let turn = 1; turn < 40; turn++) {
    const body = { model: 'm', max_output_tokens: WRITTEN, input: 'And then?', ...next(id) }
    const answer = await gateway.request('/v1/responses', { body })
    if (answer.status !== 200) {
      t.equal(answer.status, 429, answer.text)
      t.match(answer.json(), { error: { code: 'insufficient_quota' } })
      t.equal(up.requests.items.length, turn - 1, 'no upstream hears of what is refused')
      const sum = (await charged(gateway)).reduce((all, { cost }) => all + cost, 0)
      t.comment(`${turn - 1} turns, ${sum} of ${BUDGET} micro-USD`)
      return [sum, turn - 1]
    }
    id = (answer.json() as { id: string }).id
  }
  throw new Error('the budget never refused')
}

for (const speaks of ['chat', 'responses'] as const) {
  const script = speaks === 'chat' ? chatting : responding
  t.test(`F-A8 a conversation that the gateway keeps is in the reservation: ${speaks}, overshoot 0`, async t => {
    const stage = await staged(t, speaks, `budget: ${BUDGET / 1e6} USD/day`)
    stage.up.answer(script)
    const made = await stage.gateway.request('/v1/conversations', { body: {} })
    const { id: conversation } = made.json() as { id: string }
    const [sum = 0, turns = 0] = await spent(stage, () => ({ conversation }))
    t.ok(sum <= BUDGET, `${sum}`)
    t.ok(turns >= 3, `${turns} turns`)
  })
}

t.test('F-A8 earlier responses are in the reservation, overshoot 0', async t => {
  const stage = await staged(t, 'chat', `budget: ${BUDGET / 1e6} USD/day`)
  stage.up.answer(chatting)
  const [sum = 0, turns = 0] = await spent(stage, id => (id === undefined ? {} : { previous_response_id: id }))
  t.ok(sum <= BUDGET, `${sum}`)
  t.ok(turns >= 3, `${turns} turns`)
})

t.test('F-A8 what a reference stands for is in the reservation', async t => {
  const stage = await staged(t, 'chat', 'budget: 0.0016 USD/day')
  stage.up.answer(chatting)
  const ask = (input: unknown): ReturnType<TestGateway['request']> =>
    stage.gateway.request('/v1/responses', { body: { model: 'm', max_output_tokens: WRITTEN, input } })
  const [item] = ((await ask('Hello?')).json() as { output: { id: string }[] }).output
  t.equal((await ask([{ type: 'item_reference', id: item?.id }])).status, 429)
  t.equal((await ask('Hello?')).status, 200)
})

t.test('F-A8 what looks like media but stands for text counts by its bytes', async t => {
  const { gateway, up } = await staged(t, 'chat', 'budget: 0.05 USD/day')
  up.answer(chatting)
  const content = 'QUJD'.repeat(20_000)
  t.equal((await gateway.chat({ max_tokens: WRITTEN, messages: [{ role: 'user', content }] })).status, 429)
  const url = `data:image/png;base64,${content}`
  const image = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
  t.equal((await gateway.chat({ max_tokens: WRITTEN, messages: image })).status, 200)
})

// ── media

const MEDIA_HOST = '127.0.0.2'

/** A target that takes media as bytes alone, and a picture whose tokens are all that the flat rate of a picture allows. */
async function withMedia(
  t: Test,
  limits: string,
  fetches: boolean,
): Promise<Stage & { ask(count: number): Promise<number> }> {
  const picture = sample('image/png', 40_000)
  const host = await startMediaHost(t, MEDIA_HOST, (_, response) =>
    response.writeHead(200, { 'content-type': 'image/png' }).end(picture),
  )
  const more = `media: { fetch: { allow: [${MEDIA_HOST}], http: true, ports: [${host.port}] } }\n`
  const traits = `, traits: { fetches_urls: ${fetches}, max_output: 400 }`
  const stage = await staged(t, 'messages', limits, { more, traits })
  const source = { type: 'image_url', image_url: { url: `${host.origin}/cat.png` } }
  const ask = async (count: number): Promise<number> => {
    const content = Array.from({ length: count }, () => source)
    return (await stage.gateway.chat({ max_tokens: WRITTEN, messages: [{ role: 'user', content }] })).status
  }
  return { ...stage, ask }
}

const IMAGE_TOKENS = 16_000

/** Counts the flat rate for each picture. */
const looking: Script = peer => {
  const { messages } = peer.request.json() as { messages: { content: { type: string }[] }[] }
  const images = messages.flatMap(({ content }) => content).filter(({ type }) => type === 'image').length
  return json({
    ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'm', stop_reason: 'end_turn' },
    content: [{ type: 'text', text: 'A cat.' }],
    usage: { input_tokens: images * IMAGE_TOKENS, output_tokens: WRITTEN },
  })(peer)
}

for (const [who, fetches] of [
  ['the gateway fetches', false],
  ['the upstream fetches', true],
] as const) {
  t.test(`F-A8 media that ${who} are in the reservation, overshoot 0`, async t => {
    const { gateway, up, ask } = await withMedia(t, 'budget: 0.04 USD/day', fetches)
    up.answer(looking)
    t.equal(await ask(3), 429)
    t.equal(up.requests.items.length, 0, 'no upstream hears of what is refused')
    t.equal(await ask(2), 200)
    t.equal(await ask(1), 429, 'some 7,000 are left')
    const sum = (await charged(gateway)).reduce((all, { cost }) => all + cost, 0)
    t.equal(sum, 2 * IMAGE_TOKENS + WRITTEN)
  })
}

t.test(
  'F-A8 a URL that does not look like one is reserved once it is fetched; a target without room is passed over',
  async t => {
    const host = await startMediaHost(t, MEDIA_HOST, (_, response) =>
      response.writeHead(200, { 'content-type': 'image/png' }).end(sample('image/png')),
    )
    const [small, large] = [await startRawUpstream(t), await startRawUpstream(t)]
    const upstream = ({ origin }: RawUpstream, limits: string): string =>
      `{ base: "${origin}", speaks: { ${SPEAKS.messages} }, traits: { fetches_urls: false, max_output: 400 }, limits: ${limits} }`
    const gateway = await startTestGateway(
      t,
      `version: 1
store: { type: file, path: ./data }
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
upstreams: { small: ${upstream(small, '{ tokens: 10k/day }')}, large: ${upstream(large, '{ tokens: 50k/day }')} }
models: { m: [{ upstream: small }, { upstream: large }] }
${PRICES}
media: { fetch: { allow: [${MEDIA_HOST}], http: true, ports: [${host.port}] } }
`,
    )
    large.answer(looking)
    const content = [{ type: 'image_url', image_url: { url: `${host.origin}/a.png` } }]
    const body = JSON.stringify({ model: 'm', max_tokens: WRITTEN, messages: [{ role: 'user', content }] })
    const answer = await gateway.request('/v1/chat/completions', { body: body.replace('"http:', '"\\u0068ttp:') })
    t.equal(answer.status, 200, answer.text)
    t.strictSame([small.requests.items.length, large.requests.items.length], [0, 1])
    t.equal((await charged(gateway))[0]?.upstream, 'large')
  },
)

t.test('F-A8 a small picture may be large to look at: it has the rate of one', async t => {
  const { gateway, up } = await staged(t, 'chat', 'budget: 0.01 USD/day')
  up.answer(chatting)
  const url = `data:image/png;base64,${sample('image/png').toString('base64')}`
  const messages = [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }]
  t.equal((await gateway.chat({ max_tokens: WRITTEN, messages })).status, 429)
  t.equal((await gateway.chat({ max_tokens: WRITTEN, messages: [{ role: 'user', content: url }] })).status, 200)
  t.equal(up.requests.items.length, 1)
})

t.test('F-A8 a compaction that the upstream itself makes is counted and charged', async t => {
  const { gateway, up } = await staged(t, 'responses', 'requests: 2/day, budget: 0.02 USD/day')
  up.answer(
    json({
      ...{ id: 'resp_c', object: 'response.compaction', created_at: 1, output: [] },
      usage: { input_tokens: 100, output_tokens: 50, total_tokens: 150 },
    }),
  )
  const ask = (): ReturnType<TestGateway['request']> =>
    gateway.request('/v1/responses/compact', { body: { model: 'm', input: 'word '.repeat(10) } })
  t.equal((await ask()).status, 200)
  t.equal((await ask()).status, 200)
  t.equal((await ask()).status, 429)
  const records = await charged(gateway)
  t.strictSame(
    records.map(({ cost, route }) => [cost, route]),
    Array.from({ length: 2 }, () => [150, 'POST /v1/responses/compact']),
  )
})

t.test('F-A8 a summary that stands for a conversation counts as one request, and is charged once', async t => {
  const { gateway, up } = await staged(t, 'chat', 'requests: 2/day, budget: 0.04 USD/day')
  up.answer(chatting)
  const ask = (): ReturnType<TestGateway['request']> =>
    gateway.request('/v1/responses/compact', { body: { model: 'm', input: 'Hello.' } })
  t.equal((await ask()).status, 200)
  t.equal((await ask()).status, 200)
  t.equal((await ask()).status, 429)
  t.equal((await charged(gateway)).length, 2)
})
