import t from 'tap'
import { chat } from '../../src/codecs/chat/index.js'
import { fold } from '../../src/codecs/fold.js'
import { generate } from '../../src/codecs/generate/index.js'
import { messages } from '../../src/codecs/messages/index.js'
import { responses } from '../../src/codecs/responses/index.js'
import type { Frame } from '../../src/core/codec.js'
import type { JsonObject } from '../../src/core/json.js'
import { decodeAll } from './support.js'

// Upstreams leave out counts of their usage: what they tell is kept, whole and streamed.

const frame = (event: JsonObject): Frame => ({ data: JSON.stringify(event) })
const candidate = { content: { role: 'model', parts: [{ text: 'a' }] }, finishReason: 'STOP' }

const UNREAD = Array.from({ length: 25_000 }, (_, i) => ({ [`a${i}`]: 1 }))

t.test('native: whole, and over the documents of a stream', async t => {
  const whole = (usageMetadata: JsonObject): unknown =>
    generate.client.decodeResult({ candidates: [candidate], usageMetadata }).usage
  const streamed = (...reports: readonly JsonObject[]): unknown =>
    fold(
      decodeAll(
        generate,
        reports.map(usageMetadata => frame({ candidates: [candidate], usageMetadata })),
      ),
    ).usage
  t.strictSame(whole({ candidatesTokenCount: 5 }), { output: 5 })
  t.strictSame(whole({ thoughtsTokenCount: 5 }), { output: 5, reasoning: 5 })
  t.strictSame(whole({ candidatesTokenCount: 5, totalTokenCount: 9 }), { input: 4, output: 5 })
  t.strictSame(whole({ totalTokenCount: 9 }), { total: 9 })
  t.strictSame(streamed({ candidatesTokenCount: 5 }), { output: 5 })
  t.strictSame(streamed({ promptTokenCount: 4 }, { candidatesTokenCount: 5 }), { input: 4, output: 5 })
  t.strictSame(streamed({ promptTokenCount: 4, totalTokenCount: 4 }, {}), { input: 4, output: 0 })
  t.strictSame(streamed({ promptTokenCount: 4 }, ...UNREAD), { input: 4 }, 'members that are not read are not kept')
})

t.test('message blocks', async t => {
  const whole = (usage: JsonObject): unknown =>
    messages.client.decodeResult({ type: 'message', id: 'm', model: 'u', content: [], stop_reason: 'end_turn', usage })
      .usage
  t.strictSame(whole({ output_tokens: 5 }), { output: 5 })
  t.strictSame(whole({ cache_read_input_tokens: 5 }), { input: 5, cached: 5 })
  t.strictSame(whole({ input_tokens: 1, cache_creation_input_tokens: 5 }), { input: 6, cacheWrite: 5 })
  const reports = [{ input_tokens: 1, service_tier: 'standard' }, ...UNREAD, { input_tokens: null, output_tokens: 5 }]
  const deltas = reports.map(usage => frame({ type: 'message_delta', delta: {}, usage }))
  const message = { id: 'm', model: 'u', usage: { input_tokens: 9, cache_read_input_tokens: 2 } }
  const start = frame({ type: 'message_start', message })
  const streamed = fold(decodeAll(messages, [start, ...deltas, frame({ type: 'message_stop' })]))
  t.strictSame(streamed.usage, { input: 3, output: 5, cached: 2 }, 'members that are not read are not kept')
  t.equal(streamed.serviceTier, 'default')
})

t.test('responses and chat', async t => {
  const ofResponse = (usage: JsonObject): unknown =>
    responses.client.decodeResult({ id: 'r', object: 'response', status: 'completed', output: [], usage }).usage
  const choices = [{ index: 0, message: { role: 'assistant', content: 'a' }, finish_reason: 'stop' }]
  const ofChat = (usage: JsonObject): unknown => chat.client.decodeResult({ id: 'c', choices, usage }).usage
  t.strictSame(ofResponse({ output_tokens: 5 }), { output: 5 })
  t.strictSame(ofResponse({ output_tokens: 5, total_tokens: 9 }), { input: 4, output: 5 })
  t.strictSame(ofResponse({ total_tokens: 9 }), { total: 9 })
  t.strictSame(ofChat({ completion_tokens: 5, total_tokens: 9 }), { input: 4, output: 5 })
  t.strictSame(ofChat({ total_tokens: 9 }), { total: 9 })
})
