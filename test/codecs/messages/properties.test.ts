import t from 'tap'
import { fold, unfold } from '../../../src/codecs/fold.js'
import { messages } from '../../../src/codecs/messages/index.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Part, Seal, TextRequest, TextResult } from '../../../src/core/text.js'
import { fc } from '../../helpers/property.js'
import { answerTo, decodeAll, encodeAll, faultsOf, plain, requestOf, targetOf } from '../support.js'

const RUNS = { numRuns: 300 }

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
const object = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
const ownSeal = fc.base64String({ minLength: 4, maxLength: 12 }).map((value): Seal => ({ by: 'messages', value }))
const foreignSeal = fc.record({ by: fc.constantFrom('generate', 'responses', 'chat'), value: words })

const text = words.map((text): Part => ({ type: 'text', text }))
const call = fc
  .record({
    id: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }),
    name: fc.stringMatching(/^[a-z_]{1,8}$/),
    input: object,
  })
  .map(({ id, name, input }): Part => ({ type: 'call', id, name, arguments: JSON.stringify(input) }))
const trace = fc.record({ type: fc.constant('server_tool_use'), id: words, input: object }).map((value): Part => {
  return { type: 'hosted', of: 'messages', value: plain(value) as JsonObject }
})

function thoughts(seal: fc.Arbitrary<Seal>): fc.Arbitrary<Part> {
  return fc.oneof(
    words.map((text): Part => ({ type: 'reasoning', text })),
    fc.tuple(fc.string(), seal).map(([text, seal]): Part => ({ type: 'reasoning', text, seal })),
    seal.map((seal): Part => ({ type: 'reasoning', text: '', redacted: true, seal })),
  )
}

const usage = fc
  .record({ own: fc.nat(), cached: fc.nat(), cacheWrite: fc.nat(), output: fc.nat(), reasoning: fc.nat() })
  .map(({ own, cached, cacheWrite, ...rest }) => ({ input: own + cached + cacheWrite, cached, cacheWrite, ...rest }))

function results(part: fc.Arbitrary<Part>): fc.Arbitrary<TextResult> {
  return fc
    .record({ parts: fc.array(part, { maxLength: 5 }), usage, stop: fc.option(words, { nil: undefined }) })
    .map(({ parts, usage, stop }) => {
      const calls = parts.some(({ type }) => type === 'call')
      const end = calls
        ? { reason: 'tool' as const }
        : { reason: 'stop' as const, ...(stop !== undefined && { stopSequence: stop }) }
      return { id: 'msg_1', model: 'up', candidates: [{ parts, end }], usage }
    })
}

/** What an upstream of this protocol can say. */
const own = results(fc.oneof(text, call, trace, thoughts(ownSeal)))

/** What upstreams of any protocol can say: they seal any part. */
const sealed = fc
  .tuple(fc.oneof(text, call, fc.constant<Part>({ type: 'text', text: '' })), foreignSeal)
  .map(([part, seal]): Part => ({ ...part, seal }))
const foreign = results(fc.oneof(text, call, sealed, thoughts(foreignSeal)))

t.test('a whole answer comes back as it was', async t => {
  fc.assert(
    fc.property(own, result => {
      const body = plain(messages.server.encodeResult(result, answerTo(requestOf())))
      t.same(messages.client.decodeResult(body), result)
    }),
    RUNS,
  )
})

t.test('a stream adds up to what it was made of', async t => {
  fc.assert(
    fc.property(own, result => {
      const events = decodeAll(messages, encodeAll(messages, unfold(result), answerTo(requestOf({ stream: true }))))
      t.same(faultsOf(events), [])
      t.same(fold(events), result)
    }),
    RUNS,
  )
})

function replayed(content: Json): readonly Part[] {
  const body = { max_tokens: 1, messages: [{ role: 'assistant', content }] }
  return messages.server.decodeRequest(body, requestOf()).turns[0]!.parts.map(({ at: _, ...part }) => part as Part)
}

t.test('what a client sends back of an answer is what the upstream said, seals and all', async t => {
  fc.assert(
    fc.property(foreign, result => {
      const { content } = plain(messages.server.encodeResult(result, answerTo(requestOf()))) as { content: Json }
      t.same(replayed(content), result.candidates[0]!.parts)
    }),
    RUNS,
  )
})

t.test('and what it sends back of a stream', async t => {
  fc.assert(
    fc.property(foreign, result => {
      const frames = encodeAll(messages, unfold(result), answerTo(requestOf({ stream: true })))
      t.same(replayed(contentOf(frames.map(({ data }) => JSON.parse(data)))), result.candidates[0]!.parts)
    }),
    RUNS,
  )
})

/** The content that a client of this protocol gathers. */
function contentOf(documents: readonly Record<string, Json>[]): Json {
  const blocks: Record<string, Json>[] = []
  const json: string[] = []
  for (const { type, index, content_block, delta } of documents) {
    const at = Number(index)
    if (type === 'content_block_start') {
      blocks[at] = { ...(content_block as JsonObject) }
      json[at] = ''
    }
    const block = blocks[at]
    if (type !== 'content_block_delta' || block === undefined) continue
    const { type: kind, text, thinking, signature, partial_json } = delta as Record<string, Json>
    if (kind === 'text_delta') block.text = `${block.text}${text}`
    if (kind === 'thinking_delta') block.thinking = `${block.thinking}${thinking}`
    if (kind === 'signature_delta') block.signature = signature!
    if (kind === 'input_json_delta') json[at] = `${json[at]}${partial_json}`
  }
  return blocks.map((block, i) =>
    block.type === 'tool_use' ? { ...block, input: JSON.parse(json[i] || '{}') as Json } : block,
  )
}

const cache = fc.constantFrom(
  {},
  { cache_control: { type: 'ephemeral' } },
  { cache_control: { type: 'ephemeral', ttl: '1h' } },
)
const textBlock = fc.tuple(words, cache).map(([text, cache]) => ({ type: 'text', text, ...cache }))
const mediaBlock = fc.constantFrom<JsonObject>(
  { type: 'image', source: { type: 'base64', media_type: 'image/webp', data: 'UklGRg==' } },
  { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
  { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0=' }, title: 'a.pdf' },
  {
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data: 'a' },
    context: 'b',
    citations: { enabled: true },
  },
)
const thinkingBlock = fc.constantFrom<JsonObject>(
  { type: 'thinking', thinking: 'I look.', signature: 'c2ln' },
  { type: 'redacted_thinking', data: 'cmVk' },
)
const toolUse = object.map(input => ({ type: 'tool_use', id: 'toolu_1', name: 'f', input }))
const toolResult = fc.record(
  {
    type: fc.constant('tool_result'),
    tool_use_id: fc.constant('toolu_1'),
    content: fc.array(fc.oneof(textBlock, mediaBlock), { minLength: 1, maxLength: 2 }),
    is_error: fc.constant(true),
  },
  { requiredKeys: ['type', 'tool_use_id'] },
)

const message = fc.oneof(
  fc
    .array(fc.oneof(textBlock, mediaBlock, toolResult), { minLength: 1, maxLength: 3 })
    .map(content => ({ role: 'user', content })),
  fc
    .array(fc.oneof(textBlock, thinkingBlock, toolUse), { minLength: 1, maxLength: 3 })
    .map(content => ({ role: 'assistant', content })),
)

const request = fc.record(
  {
    max_tokens: fc.integer({ min: 2000, max: 9000 }),
    messages: fc.array(message, { minLength: 1, maxLength: 4 }),
    system: fc.oneof(words, fc.array(textBlock, { minLength: 1, maxLength: 2 })),
    tools: fc.constant([
      { name: 'f', input_schema: { type: 'object' }, strict: true },
      { type: 'web_search_20250305', name: 'web_search' },
    ]),
    tool_choice: fc.constantFrom(
      { type: 'auto' },
      { type: 'any', disable_parallel_tool_use: true },
      { type: 'tool', name: 'f' },
      { type: 'none' },
    ),
    thinking: fc.constantFrom<JsonObject>(
      { type: 'adaptive', display: 'summarized' },
      { type: 'enabled', budget_tokens: 1500 },
      { type: 'disabled' },
    ),
    output_config: fc.constant({
      format: { type: 'json_schema', schema: { type: 'object', properties: {}, additionalProperties: false } },
    }),
    temperature: fc.constantFrom(0, 0.5, 1),
    top_p: fc.constant(0.97),
    top_k: fc.constant(5),
    stop_sequences: fc.constant(['END']),
    metadata: fc.constant({ user_id: 'u' }),
    service_tier: fc.constantFrom('auto', 'standard_only'),
    stream: fc.boolean(),
  },
  { requiredKeys: ['max_tokens', 'messages'] },
)

t.test('a request that went out and came in is the same ever after', async t => {
  const read = (body: JsonObject): TextRequest =>
    messages.server.decodeRequest(body, { model: 'upstream-model', stream: body.stream === true })
  const write = (request: TextRequest): JsonObject =>
    plain(messages.client.encodeRequest(request, targetOf(messages))) as JsonObject
  fc.assert(
    fc.property(request, body => {
      const once = write(read(plain(body) as JsonObject))
      t.same(write(read(once)), once)
    }),
    RUNS,
  )
})
