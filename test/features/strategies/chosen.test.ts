import t from 'tap'
import { CHAT_ANSWER, json } from '../../helpers/answers.js'
import { startTestGateway, upstreamYaml } from '../../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../../helpers/raw-upstream.js'

const KEYS = `groups: { research: {}, lab: { group: research } }
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], group: lab }`

const yaml = (a: RawUpstream, b: RawUpstream, models: string, more = '', keys = KEYS): string =>
  `version: 1\n${keys}\nupstreams:\n  a: ${upstreamYaml(a.origin)}\n  b: ${upstreamYaml(b.origin)}\nmodels:\n  ${models}\n${more}`

/** How often each was asked since the last look. */
function asked(...upstreams: readonly RawUpstream[]): () => readonly number[] {
  let before = upstreams.map(() => 0)
  return () => {
    const now = upstreams.map(one => one.requests.items.length)
    const since = now.map((count, index) => count - (before[index] ?? 0))
    before = now
    return since
  }
}

t.test('targets with conditions get the requests that they are for', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [a, b]) one.answer(json(CHAT_ANSWER))
  const models = `m:
    - { upstream: a, when: { tokens: { larger_than: 500 } } }
    - b
  tier:
    - { upstream: a, when: { body: { metadata.tier: [gold, silver] }, header: { x-team: { matches: ["r*"] } } } }
    - { upstream: b, when: { body: { metadata.tier: { present: false } } } }
  team: [{ upstream: a, when: { group: [research], key: ["call*"] } }, b]
  either: [{ upstream: a, when: { stream: true } }, { upstream: a, when: { header: { x-team: red } } }, b]`
  const gateway = await startTestGateway(t, yaml(a, b, models))
  const look = asked(a, b)
  await gateway.chat()
  t.same(look(), [0, 1])
  await gateway.chat({ messages: [{ role: 'user', content: 'x'.repeat(4000) }] })
  t.same(look(), [1, 0])
  await gateway.chat({ model: 'tier', metadata: { tier: 'gold' } }, { headers: { 'X-Team': 'red' } })
  t.same(look(), [1, 0])
  await gateway.chat({ model: 'tier' })
  t.same(look(), [0, 1])
  await gateway.chat({ model: 'team' })
  t.same(look(), [1, 0], 'the key is in the group by way of another one')
  await gateway.chat({ model: 'either' }, { headers: { 'X-Team': 'red' } })
  t.same(look(), [1, 0], 'one upstream is for requests of either kind')
  await gateway.chat({ model: 'either' })
  t.same(look(), [0, 1])
  const refused = await gateway.chat({ model: 'tier', metadata: { tier: 'gold' } })
  t.equal(refused.status, 400, 'no target is for it')
  t.match(refused.text, /No target of this model takes such a request/)
  t.same(look(), [0, 0])
  const line = await gateway.log.find(one => one.msg === 'request' && one.status === 400)
  t.match(JSON.stringify(line), /a: header\.x-team, b: body\.metadata\.tier/, 'the log says why')
})

t.test('sticky sends a conversation to one target, and different ones to both', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [a, b]) one.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, yaml(a, b, 'm: { targets: [a, b], strategy: { sticky: conversation } }'))
  const look = asked(a, b)
  const used = new Set<number>()
  for (let conversation = 0; conversation < 12; conversation++) {
    const messages: unknown[] = [{ role: 'user', content: `begin ${conversation}` }]
    for (let turn = 0; turn < 3; turn++) {
      t.equal((await gateway.chat({ messages })).status, 200)
      messages.push({ role: 'assistant', content: 'yes' }, { role: 'user', content: 'and?' })
    }
    const [first, second] = look()
    t.ok(first === 3 || second === 3, `conversation ${conversation}: ${first} and ${second}`)
    used.add(first === 3 ? 0 : 1)
  }
  t.equal(used.size, 2)
})

t.test('cheapest asks the target that charges least for this request', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [a, b]) one.answer(json(CHAT_ANSWER))
  const prices = 'prices: { a/m: { input: 1.00, output: 10.00 }, b/m: { input: 4.00, output: 2.00 } }\n'
  const gateway = await startTestGateway(t, yaml(a, b, 'm: { targets: [a, b], strategy: cheapest }', prices))
  const look = asked(a, b)
  await gateway.chat({ max_tokens: 1000 })
  t.same(look(), [0, 1], 'much output: b charges less for it')
  await gateway.chat({ max_tokens: 1, messages: [{ role: 'user', content: 'x'.repeat(8000) }] })
  t.same(look(), [1, 0], 'much input: a does')
})

t.test('cheapest asks any of those that charge the same', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [a, b]) one.answer(json(CHAT_ANSWER))
  const prices = 'prices: { "*": { input: 1.00, output: 10.00 } }\n'
  const gateway = await startTestGateway(t, yaml(a, b, 'm: { targets: [a, b], strategy: cheapest }', prices))
  for (let call = 0; call < 60; call++) await gateway.chat({ max_tokens: 10 })
  const [ofA = 0, ofB = 0] = asked(a, b)()
  t.equal(ofA + ofB, 60)
  t.ok(ofA > 9 && ofB > 9, `${ofA} and ${ofB}: each half the time`)
})

t.test('cheapest knows the shipped prices without other words of prices, and keeps no ledger then', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [a, b]) one.answer(json(CHAT_ANSWER))
  const models =
    'm: { targets: [{ upstream: a, as: none-such }, { upstream: b, as: gpt-4o-mini }], strategy: cheapest }'
  const keys = 'keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }'
  const gateway = await startTestGateway(t, yaml(a, b, models, '', keys))
  for (let call = 0; call < 5; call++) t.equal((await gateway.chat()).status, 200)
  t.same(asked(a, b)(), [0, 5], 'what has no price comes last')
})

/** The gateway keeps the conversations. */
const CHAT_ALONE = 'speaks: { chat: POST /v1/chat/completions }'

t.test('turns that name only the response before them stay with the target of the first one', async t => {
  const [a, b] = [await startRawUpstream(t), await startRawUpstream(t)]
  for (const one of [a, b]) one.answer(json(CHAT_ANSWER))
  const models = 'm: { targets: [a, b], strategy: { sticky: conversation } }'
  const gateway = await startTestGateway(t, yaml(a, b, models).replaceAll(/speaks: \{ [^}]* \}/g, CHAT_ALONE))
  const look = asked(a, b)
  const seen = new Set<number>()
  for (let conversation = 0; conversation < 6; conversation++) {
    let previous: string | undefined
    for (let turn = 0; turn < 6; turn++) {
      const body = { model: 'm', input: `${conversation}: turn ${turn}`, previous_response_id: previous }
      const answer = await gateway.request('/v1/responses', { body })
      t.equal(answer.status, 200)
      previous = (answer.json() as { id: string }).id
    }
    const counts = look()
    t.ok(counts.includes(6), `conversation ${conversation}: ${counts}`)
    seen.add(counts.indexOf(6))
  }
  t.equal(seen.size, 2, 'different conversations go to both')
})
