import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { json, stream } from '../helpers/answers.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

// JSON mode works on every text model. Where the upstream's protocol has none, the model gives its answer by calling a tool.

const KEY = 'key-of-the-shipped-file-0123'
const MODELS = ['sim-text', 'sim-responses', 'sim-messages', 'sim-generate'] as const
const FORMAT = { response_format: { type: 'json_object' } } as const
const MESSAGES = [{ role: 'user', content: 'Name two colors as JSON.' }] as const

const sdkOf = (gateway: TestGateway, key: string): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 })

t.test('chat and responses in JSON mode give JSON on all four text models, streamed or not', async t => {
  const yaml = readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8')
  const sdk = sdkOf(await startTestGateway(t, yaml, { env: { GATEWAY_KEY: KEY } }), KEY)
  for (const model of MODELS) {
    const ask = { model, messages: [...MESSAGES], ...FORMAT }
    const whole = await sdk.chat.completions.create(ask)
    t.type(JSON.parse(whole.choices[0]?.message.content ?? ''), Object, model)
    t.equal(whole.choices[0]?.finish_reason, 'stop', model)
    let text = ''
    for await (const chunk of await sdk.chat.completions.create({ ...ask, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
    t.type(JSON.parse(text), Object, `${model}: streamed`)
    const response = await sdk.responses.create({
      model,
      input: 'Colors, as JSON.',
      text: { format: { type: 'json_object' } },
    })
    t.type(JSON.parse(response.output_text), Object, `${model}: responses`)
  }
})

async function stage(test: Test): Promise<{ readonly up: RawUpstream; readonly sdk: OpenAI }> {
  const up = await startRawUpstream(test)
  const gateway = await startTestGateway(
    test,
    `version: 1
keys: { ann: { secret: { env: CALLER_KEY } } }
upstreams: { up: { base: "${up.origin}", speaks: { messages: POST /v1/messages }, traits: { max_output: 100 } } }
models: { m: up }
`,
  )
  return { up, sdk: sdkOf(gateway, gateway.key) }
}

const usage = { input_tokens: 1, output_tokens: 1 }
const message = (content: readonly object[], stop_reason: string): object => ({
  id: 'msg_1',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content,
  stop_reason,
  stop_sequence: null,
  usage,
})

t.test('the model is made to call a tool, whose arguments are the answer', async t => {
  const { up, sdk } = await stage(t)
  const input = { colors: ['red', 'blue'] }
  up.answer(json(message([{ type: 'tool_use', id: 'toolu_1', name: 'gateway_json_answer', input }], 'tool_use')))
  const answer = await sdk.chat.completions.create({ model: 'm', messages: [...MESSAGES], ...FORMAT }).withResponse()
  t.same(JSON.parse(answer.data.choices[0]?.message.content ?? ''), input)
  t.equal(answer.response.headers.get('x-gateway-dropped'), null, 'nothing is lost')
  t.match(up.requests.items[0]?.json(), { tool_choice: { type: 'tool', name: 'gateway_json_answer' } })
})

t.test('prose where JSON was asked for is an error, and no answer with 200', async t => {
  const { up, sdk } = await stage(t)
  const ask = { model: 'm', messages: [...MESSAGES], ...FORMAT }
  up.answer(json(message([{ type: 'text', text: 'Red and blue, I think.' }], 'end_turn')))
  await t.rejects(sdk.chat.completions.create(ask), { status: 502, code: 'bad_upstream_response' })
  const events = [
    { type: 'message_start', message: { ...message([], 'end_turn'), stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Red and blue.' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
  up.answer(stream(events.map(event => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)))
  let text = ''
  const read = async (): Promise<void> => {
    for await (const chunk of await sdk.chat.completions.create({ ...ask, stream: true })) {
      text += chunk.choices[0]?.delta.content ?? ''
    }
  }
  await t.rejects(read(), { message: /prose/ })
  t.equal(text, '', 'nothing of it is shown')
  up.answer(json(message([{ type: 'text', text: '{"red":1}' }], 'end_turn')))
  const plain = await sdk.chat.completions.create(ask)
  t.equal(plain.choices[0]?.message.content, '{"red":1}', 'JSON that comes as text is JSON')
})
