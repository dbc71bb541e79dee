import t from 'tap'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { CHAT, oneUpstream, startTestGateway } from '../helpers/gateway.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

const TRACE = {
  traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
  tracestate: 'vendor=opaque',
  baggage: 'tenant=7',
}
/** The chat upstream is asked in its own protocol and in a translated one. */
const REQUESTS = [
  ['/v1/chat/completions', CHAT],
  ['/v1/messages', { ...CHAT, max_tokens: 5 }],
] as const

for (const [path, body] of REQUESTS) {
  t.test(`the context of a trace passes upstream from ${path}, and its id is in the log`, async t => {
    const upstream = await startRawUpstream(t)
    upstream.answer(json(CHAT_ANSWER))
    const gateway = await startTestGateway(
      t,
      oneUpstream(upstream.origin).replace(', responses: POST /v1/responses', ''),
    )
    t.equal((await gateway.request(path, { body, headers: TRACE })).status, 200)
    const [sent] = await upstream.requests.count(1)
    for (const [name, value] of Object.entries(TRACE)) t.equal(sent?.header(name), value)
    const line = await gateway.log.find(({ msg }) => msg === 'request')
    t.equal(line.trace, '0af7651916cd43dd8448eb211c80319c')
  })
}

t.test(
  'an upstream with trace: false hears nothing of traces; a context of another form begins a new trace',
  async t => {
    const upstream = await startRawUpstream(t)
    upstream.answer(json(CHAT_ANSWER))
    const gateway = await startTestGateway(t, oneUpstream(upstream.origin, '', 'forward: { trace: false }'))
    const headers = { ...TRACE, traceparent: `00-${'0'.repeat(32)}-b7ad6b7169203331-01` }
    t.equal((await gateway.request('/v1/chat/completions', { body: CHAT, headers })).status, 200)
    const [sent] = await upstream.requests.count(1)
    t.notOk(Object.keys(TRACE).some(name => sent?.header(name) !== undefined))
    const line = await gateway.log.find(({ msg }) => msg === 'request')
    t.match(line.trace, /^(?!0{32})[0-9a-f]{32}$/)
  },
)
