import t from 'tap'
import { body, CHAT_ANSWER, DONE, json, stream } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

// What a verb removes or sets reaches no one, however a body spells it.

relaysAnything()

const MESSAGES = '"messages":[{"role":"user","content":"x","name":"LEAK"}]'

/** Bodies with `metadata.secret` and the names of messages at places where only some readers find them. */
const SPELLINGS: Readonly<Record<string, string>> = {
  'the parent twice': `"metadata":{"secret":"LEAK"},"metadata":{},${MESSAGES}`,
  'the parent twice, then null': `"metadata":{"secret":"LEAK"},"metadata":null,${MESSAGES}`,
  'the parent thrice': `"metadata":{"secret":"LEAK"},"metadata":{"secret":"LEAK"},"metadata":{"secret":"LEAK"},${MESSAGES}`,
  'the parent once more, escaped': `"met\\u0061data":{"secret":"LEAK"},"metadata":{},${MESSAGES}`,
  'the parent once more, escaped, behind it': `"metadata":{"a":1},"\\u006detadata":{"secret":"LEAK"},${MESSAGES}`,
  'the member twice': `"metadata":{"secret":"LEAK","secret":"LEAK"},${MESSAGES}`,
  'the member escaped': `"metadata":{"s\\u0065cret":"LEAK"},${MESSAGES}`,
  'the list twice': `${MESSAGES},"messages":[{"role":"user","content":"x"}]`,
  'a large body': `"metadata":{"secret":"LEAK"},"user":"${'x'.repeat(300_000)}","metadata":{},${MESSAGES}`,
}

const yaml = (origin: string): string => `version: 1
${CALLER}
upstreams:
  up:
    base: ${origin}
    speaks: { chat: POST /v1/chat/completions }
    request: [{ remove: [metadata.secret, messages.*.name] }, { set: { extra.here: false } }]
    response: [{ remove: [metadata.secret, choices.*.secret] }]
models: { m: up }
`

for (const [how, members] of Object.entries(SPELLINGS)) {
  t.test(`a request that spells what is removed in another way: ${how}`, async t => {
    const upstream = await startRawUpstream(t)
    upstream.answer(json(CHAT_ANSWER))
    const gateway = await startTestGateway(t, yaml(upstream.origin))
    const text = `{"model":"m","extra":{"here":true,"k":0},"extra":{"here":true},${members}}`
    const answer = await gateway.request('/v1/chat/completions', { method: 'POST', body: text })
    t.equal(answer.status, 200, answer.text.slice(0, 200))
    const sent = upstream.requests.items[0]?.body.toString() ?? ''
    t.notOk(sent.includes('LEAK'), sent.slice(0, 300))
    t.notOk(/"here"\s*:\s*true/.test(sent), 'only the value that was set is there')
    t.same((JSON.parse(sent) as { extra: unknown }).extra, { here: false })
  })
}

t.test('an answer, and each event of one, loses what is removed however the upstream spells it', async t => {
  const upstream = await startRawUpstream(t)
  const gateway = await startTestGateway(t, yaml(upstream.origin))
  const doubled = '"metadata":{"secret":"LEAK"},"m\\u0065tadata":{},"choices":[{"secret":"LEAK"}]'
  upstream.answer(body(`{"id":"1",${doubled}}`))
  const whole = await gateway.chat({ model: 'm' })
  t.equal(whole.status, 200, whole.text)
  t.notOk(whole.text.includes('LEAK'), whole.text)

  const spaces = ['', ' ', '  ', '\t'].map(space => `data:${space}{"id":"1",${doubled}}\n\n`)
  upstream.answer(stream([...spaces, `data: {"id":"1",\ndata: ${doubled}}\n\n`, DONE]))
  const streamed = await gateway.chat({ model: 'm', stream: true })
  t.equal(streamed.status, 200)
  t.equal(streamed.text.match(/"id"/g)?.length, 5, streamed.text)
  t.notOk(streamed.text.includes('LEAK'), streamed.text)
})

proveNoLeak(t)
