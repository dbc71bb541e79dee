import Anthropic from '@anthropic-ai/sdk'
import t, { type Test } from 'tap'
import { json } from '../helpers/answers.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** Clients of message blocks look for the request's id in the header `request-id`, and nowhere else. */

const ASK = { max_tokens: 64, messages: [{ role: 'user' as const, content: 'hello' }] }
const MESSAGE = {
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [{ type: 'text', text: 'hello' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 1, output_tokens: 1 },
}

interface Staged {
  readonly gateway: TestGateway
  readonly up: RawUpstream
  readonly sdk: Anthropic
}

async function stage(t: Test): Promise<Staged> {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
${CALLER}
listen: { cors: { origins: ["https://app.example"] } }
upstreams:
  own: { kind: messages, base: "${up.origin}" }
  chat: { kind: simulator-chat }
models:
  own: own
  translated: { upstream: chat, as: sim-text }
`,
  )
  return { gateway, up, sdk: new Anthropic({ apiKey: gateway.key, baseURL: gateway.origin, maxRetries: 0 }) }
}

t.test('the official client has the id of a refused request, which the log and the body have too', async t => {
  const { gateway, sdk } = await stage(t)
  const refused = await sdk.messages.create({ ...ASK, model: 'none' }).catch((error: unknown) => error)
  t.ok(refused instanceof Anthropic.NotFoundError)
  const { requestID, error } = refused as InstanceType<typeof Anthropic.APIError>
  t.match(error, { request_id: requestID })
  t.match(await gateway.log.find(line => line.status === 404), { id: requestID })
})

t.test('the official client has the id of a translated answer, whole and streamed', async t => {
  const { gateway, sdk } = await stage(t)
  const { _request_id: whole } = await sdk.messages.create({ ...ASK, model: 'translated' })
  t.ok(whole)
  const streamed = sdk.messages.stream({ ...ASK, model: 'translated' })
  await streamed.done()
  t.ok(streamed.request_id)
  for (const id of [whole, streamed.request_id]) t.ok(await gateway.log.find(line => line.id === id))
})

t.test("an upstream's own id passes; where it sends none, the client gets the gateway's", async t => {
  const { up, sdk } = await stage(t)
  up.answer(json(MESSAGE, { headers: { 'Request-Id': 'req_upstream' } }))
  const { request_id, response } = await sdk.messages.create({ ...ASK, model: 'own' }).withResponse()
  t.equal(request_id, 'req_upstream')
  t.not(response.headers.get('x-request-id'), 'req_upstream')
  up.answer(json(MESSAGE))
  const other = await sdk.messages.create({ ...ASK, model: 'own' }).withResponse()
  t.ok(other.request_id)
  t.equal(other.request_id, other.response.headers.get('x-request-id'))
})

t.test('pages of other origins may read it; other families have no such header', async t => {
  const { gateway } = await stage(t)
  const headers = { origin: 'https://app.example', 'x-request-id': 'mine' }
  const answer = await gateway.request('/v1/messages', { body: { ...ASK, model: 'translated' }, headers })
  t.equal(answer.header('request-id'), 'mine')
  t.ok(answer.header('access-control-expose-headers')?.split(', ').includes('request-id'))
  t.equal((await gateway.request('/v1/models', { headers })).header('request-id'), undefined)
})
