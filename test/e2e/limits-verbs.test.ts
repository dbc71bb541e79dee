import t, { type Test } from 'tap'
import { requestFacts } from '../../src/plan/explain.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { ledgerRecords } from '../helpers/ledger-records.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** Verbs of a target change what is sent: the reservation is of that, and not of what the client wrote. */

/** A token that is written costs a thousandth of a USD: the budget covers 5000 of them. */
const YAML = `version: 1
keys:
  caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { budget: 5.00 USD/day } }
  short: { secret: { env: SHORT_KEY }, models: ["*"], limits: { max_output: 100 } }
prices:
  "*": { output: 1000.00 }
  picture: { image: 1.00 }
`
const SHORT = 'the-key-of-short-answers-0123456789'

const SPEAKS = `{ chat: POST /v1/chat/completions, images.generations: POST /v1/images/generations, images.edits: POST /v1/images/edits }`

async function staged(t: Test, verbs: string): Promise<{ gateway: TestGateway; up: RawUpstream }> {
  const up = await startRawUpstream(t)
  const models = ['m', 'picture'].map(name => `  ${name}: { upstream: up, request: [{ ${verbs} }] }`)
  const yaml = `${YAML}upstreams: { up: { base: "${up.origin}", speaks: ${SPEAKS} } }\nmodels:\n${models.join('\n')}\n`
  return { gateway: await startTestGateway(t, yaml, { env: { SHORT_KEY: SHORT } }), up }
}

const usage = (written: number) => ({ prompt_tokens: 1, completion_tokens: written, total_tokens: written + 1 })
const MESSAGES = [{ role: 'user', content: 'hello' }]

/** A request of each kind that does not bound its answer itself, and one that does. */
const ASKED = {
  relayed: ['/v1/chat/completions', { model: 'm', messages: MESSAGES }, { max_tokens: 100 }, 'max_tokens'],
  translated: ['/v1/responses', { model: 'm', input: 'hello' }, { max_output_tokens: 100 }, 'max_completion_tokens'],
} as const

for (const [how, [path, body, bounded, member]] of Object.entries(ASKED)) {
  t.test(`F-A8 ${how}: a default of max_tokens is in the reservation, and a client's own number is`, async t => {
    const { gateway, up } = await staged(t, `default: { ${member}: 5001 }`)
    const refused = await gateway.request(path, { body })
    t.equal(refused.status, 429, refused.text)
    t.equal(up.requests.items.length, 0)
    up.answer(json({ ...CHAT_ANSWER, usage: usage(100) }))
    t.equal((await gateway.request(path, { body: { ...body, ...bounded } })).status, 200)
    t.match(up.requests.items[0]?.json(), { [member]: 100 })
    await gateway.gateway.close()
    t.match(await ledgerRecords(gateway), [{ cost: 100_000 }])
  })

  t.test(`F-A8 ${how}: a default lets as many pass as it covers`, async t => {
    const { gateway, up } = await staged(t, `default: { ${member}: 2500 }`)
    up.answer(...[1, 2].map(() => json({ ...CHAT_ANSWER, usage: usage(2500) })))
    const statuses = await Promise.all([1, 2, 3].map(async () => (await gateway.request(path, { body })).status))
    t.strictSame(statuses.toSorted(), [200, 200, 429])
    await gateway.gateway.close()
    const spent = (await ledgerRecords(gateway)).reduce((sum, { cost }) => sum + cost, 0)
    t.equal(spent, 5_000_000, 'overshoot 0')
  })

  t.test(`F-A8 ${how}: a number that is set replaces the client's, in the reservation too`, async t => {
    const { gateway, up } = await staged(t, `set: { ${member}: 5001, n: 1 }`)
    t.equal((await gateway.request(path, { body: { ...body, ...bounded } })).status, 429)
    t.equal(up.requests.items.length, 0)
  })

  t.test(`${how}: max_output holds for what a verb asks for`, async t => {
    const { gateway, up } = await staged(t, `set: { ${member}: 101 }`)
    const refused = await gateway.request(path, { body, key: SHORT })
    t.equal(refused.status, 400, refused.text)
    t.match(refused.json(), { error: { message: /max_output/ } })
    t.equal(up.requests.items.length, 0)
  })
}

t.test('F-A8 choices that a verb asks for are in the reservation', async t => {
  const { gateway, up } = await staged(t, 'set: { n: 6 }')
  t.equal((await gateway.chat({ max_tokens: 1000 })).status, 429)
  up.answer(json(CHAT_ANSWER))
  t.equal((await gateway.chat({ max_tokens: 800 })).status, 200)
})

t.test('explain reserves what is sent: numbers and text of verbs', async t => {
  const reserved = async (verbs: string): Promise<number> => {
    const { gateway } = await staged(t, verbs)
    const body = Buffer.from(JSON.stringify({ model: 'm', messages: MESSAGES, max_tokens: 10 }))
    const request = { method: 'POST', path: '/v1/chat/completions', key: 'caller', body }
    const [exchange] = requestFacts(gateway.gateway.plan, request).exchanges
    return Number(/^(\d+) tokens/.exec(exchange?.charge?.reserved ?? '')?.[1])
  }
  const plain = await reserved('remove: [user]')
  t.equal(await reserved('set: { max_tokens: 500 }'), plain + 490)
  t.equal(await reserved('default: { max_tokens: 500 }'), plain)
  t.equal(await reserved(`default: { instructions: ${'x'.repeat(300)} }`), plain + 300)
})

t.test('F-A8 text that a verb adds is in the reservation', async t => {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"], limits: { tokens: 400/day } } }
upstreams: { up: { base: "${up.origin}", speaks: ${SPEAKS} } }
models: { m: up, long: { upstream: up, request: [{ set: { instructions: ${'x'.repeat(300)} } }] } }
`,
  )
  t.equal((await gateway.chat({ model: 'long', max_tokens: 100 })).status, 429)
  up.answer(json({ ...CHAT_ANSWER, usage: usage(1) }))
  t.equal((await gateway.chat({ max_tokens: 100 })).status, 200)
})

t.test('F-A8 pictures that a verb asks for are in the reservation, of JSON and of forms', async t => {
  const { gateway, up } = await staged(t, 'default: { n: 6 }')
  const made = await gateway.request('/v1/images/generations', { body: { model: 'picture', prompt: 'a house' } })
  t.equal(made.status, 429, made.text)
  const edit = async (n?: string): Promise<Response> => {
    const form = new FormData()
    form.set('model', 'picture')
    form.set('prompt', 'a house')
    if (n !== undefined) form.set('n', n)
    form.set('image', new Blob(['png'], { type: 'image/png' }), 'a.png')
    const headers = { authorization: `Bearer ${gateway.key}` }
    return fetch(`${gateway.origin}/v1/images/edits`, { method: 'POST', headers, body: form })
  }
  t.equal((await edit()).status, 429)
  t.equal(up.requests.items.length, 0)
  up.answer(json({ created: 1, data: [{ b64_json: 'YQ==' }] }))
  t.equal((await edit('5')).status, 200)
})
