import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import type { Frame } from '../../src/core/codec.js'
import { tokensOf, type Units, unitsOf } from '../../src/core/cost.js'
import type { JsonObject } from '../../src/core/json.js'
import type { Protocol, Usage } from '../../src/core/plan.js'
import type { TextUsage } from '../../src/core/text.js'
import { usageOf as usageOfResult } from '../../src/translate/text.js'
import { EventUsage } from '../../src/wire/event-usage.js'
import { SseRelay } from '../../src/wire/sse-relay.js'
import { Tail } from '../../src/wire/tail.js'
import { usageOf } from '../../src/wire/usage.js'
import { tryPlan } from '../helpers/plans.js'
import { fc } from '../helpers/property.js'
import { TEXT_CODECS } from './all.js'
import { readRecorded } from './recorded.js'

/** What an answer costs is the same whether it is relayed or translated: both read the same usage from it. */

/** As everywhere, what is written costs more than what is read. */
const PRICE = { input: 2_000_000, output: 8_000_000 }

type Charged = Units & { readonly tokens?: number }

function charged(usage: Usage | undefined): Charged {
  return usage === undefined ? {} : { ...unitsOf(usage, PRICE), tokens: tokensOf(usage) }
}

const translated = (usage: TextUsage | undefined): Charged => charged(usageOfResult(usage))

/** The protocols that come with the product. */
async function shipped(): Promise<(name: string) => Protocol> {
  const { plan } = await tryPlan(t, 'version: 1\n')
  const protocols = new Map(plan?.routes.map(({ protocol }) => [protocol?.name, protocol]))
  return name => {
    const protocol = protocols.get(name)
    if (protocol === undefined) throw new Error(`no protocol ${name}`)
    return protocol
  }
}

function relayed(answer: unknown, { usage = {} }: Protocol): Charged {
  return charged(usageOf(answer, usage))
}

/** Fixtures of events have lost their names, which are also their types. */
function relayedStream(frames: readonly Frame[], { usage: paths = {}, end }: Protocol): Charged {
  const usage = new EventUsage(paths)
  const relay = new SseRelay({ line: 2 ** 24, event: 2 ** 24, end, onLarge: data => usage.large(data) })
  const tail = new Tail()
  for (const { event, data } of frames) {
    const name = event ?? /^\{"type":"([^"]+)"/.exec(String(data))?.[1]
    const bytes = relay.push(Buffer.from(`${name === undefined ? '' : `event: ${name}\n`}data: ${String(data)}\n\n`))
    if (bytes !== undefined) tail.push(bytes)
  }
  return charged(usage.usage(tail, relay.first))
}

t.test('recorded answers, whole and streamed', async t => {
  const protocolOf = await shipped()
  const { answers } = await readRecorded()
  let counted = 0
  for (const { exchange, codec, result } of answers) {
    const protocol = protocolOf(codec.protocol)
    const { frames } = exchange
    const read = frames === undefined ? relayed(exchange.result, protocol) : relayedStream(frames, protocol)
    t.strictSame(read, translated(result.usage), exchange.name)
    if (read.tokens !== undefined) counted++
  }
  if (answers.length > 0) t.ok(counted > 500, `${counted} answers have a usage`)
})

const count = fc.constantFrom(0, 1, 9, 32, 94, 375, 1000)
const maybe = fc.option(fc.oneof(count, fc.constantFrom('7', 1.5, -1)), { freq: 3 })
/** What a total has beyond both sides: nothing, one of the kinds, or something that no field names. */
const beyond = fc.constantFrom('nothing', 'thoughts', 'sound', 'cache', 'more', 'less', 'no total')
const sides = fc.record({ input: count, output: count, thoughts: count, sound: count, cache: count })
const present = fc.record({ input: fc.boolean(), output: fc.boolean() })

interface Made {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly total: number | undefined
  readonly thoughts: number
  readonly sound: number
  readonly cache: number
}

const made: fc.Arbitrary<Made> = fc.tuple(sides, present, beyond).map(([counts, has, what]) => {
  const more = { nothing: 0, more: 77, less: -1, 'no total': 0, ...counts }[what]
  return {
    ...counts,
    input: has.input ? counts.input : undefined,
    output: has.output ? counts.output : undefined,
    total: what === 'no total' ? undefined : Math.max(0, counts.input + counts.output + more),
  }
})

/** Without what is undefined, as in JSON. */
const json = (value: object): JsonObject => JSON.parse(JSON.stringify(value))

const ofChat = fc
  .tuple(made, maybe, maybe, maybe, maybe, maybe, fc.boolean())
  .map(([{ input, output, total, thoughts, sound, cache }, hit, num, own, heard, written, details]) =>
    json({
      ...{ prompt_tokens: input, completion_tokens: output, total_tokens: total },
      ...{ prompt_cache_hit_tokens: hit, num_cached_tokens: num, cached_tokens: own, audio_prompt_tokens: heard },
      ...(details && {
        prompt_tokens_details: { cached_tokens: cache, audio_tokens: sound, cache_write_tokens: written },
        completion_tokens_details: { reasoning_tokens: thoughts, audio_tokens: heard },
      }),
    }),
  )
const ofResponses = fc
  .tuple(made, maybe, maybe)
  .map(([{ input, output, total, thoughts, sound, cache }, written, spoken]) =>
    json({
      ...{ input_tokens: input, output_tokens: output, total_tokens: total },
      input_tokens_details: { cached_tokens: cache, audio_tokens: sound, cache_write_tokens: written },
      output_tokens_details: { reasoning_tokens: thoughts, audio_tokens: spoken },
    }),
  )
const ofMessages = fc.tuple(made, maybe, maybe, maybe).map(([{ input, output, thoughts }, cached, written, searched]) =>
  json({
    ...{ input_tokens: input, output_tokens: output },
    ...{ cache_read_input_tokens: cached, cache_creation_input_tokens: written },
    ...{ output_tokens_details: { thinking_tokens: thoughts }, server_tool_use: { web_search_requests: searched } },
  }),
)
const details = (audio: number, others: unknown): readonly object[] => [
  { modality: 'TEXT', tokenCount: others },
  { modality: 'AUDIO', tokenCount: audio },
]
const ofGenerate = fc
  .tuple(made, maybe, maybe, maybe, fc.boolean())
  .map(([{ input, output, total, thoughts, sound, cache }, tools, text, spoken, hasDetails]) =>
    json({
      ...{ promptTokenCount: input, candidatesTokenCount: output, totalTokenCount: total },
      ...{ thoughtsTokenCount: thoughts, cachedContentTokenCount: cache, toolUsePromptTokenCount: tools },
      ...(hasDetails && {
        promptTokensDetails: details(sound, text),
        candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: spoken }, ...details(0, 0).slice(0, 1)],
      }),
    }),
  )
const ofConverse = fc.tuple(made, maybe, maybe).map(([{ input, output, total }, cached, written]) =>
  json({
    ...{ inputTokens: input, outputTokens: output, totalTokens: total },
    ...{ cacheReadInputTokens: cached, cacheWriteInputTokens: written },
  }),
)

interface Shape {
  readonly usages: fc.Arbitrary<JsonObject>
  readonly answer: (usage: JsonObject) => JsonObject
}

const SHAPES: Readonly<Record<string, Shape>> = {
  chat: {
    usages: ofChat,
    answer: usage => ({ id: 'c', choices: [{ index: 0, message: { content: 'a' }, finish_reason: 'stop' }], usage }),
  },
  responses: {
    usages: ofResponses,
    answer: usage => ({ id: 'r', object: 'response', status: 'completed', output: [], usage }),
  },
  messages: {
    usages: ofMessages,
    answer: usage => ({ type: 'message', id: 'm', model: 'u', content: [], stop_reason: 'end_turn', usage }),
  },
  generate: {
    usages: ofGenerate,
    answer: usageMetadata => ({
      candidates: [{ content: { role: 'model', parts: [{ text: 'a' }] }, finishReason: 'STOP' }],
      usageMetadata,
    }),
  },
  converse: {
    usages: ofConverse,
    answer: usage => ({ output: { message: { role: 'assistant', content: [] } }, stopReason: 'end_turn', usage }),
  },
}

t.test('made usages of each protocol, of every shape', async t => {
  const protocolOf = await shipped()
  for (const codec of TEXT_CODECS) {
    const protocol = protocolOf(codec.protocol)
    const shape = SHAPES[codec.protocol]
    if (shape === undefined) throw new Error(codec.protocol)
    fc.assert(
      fc.property(shape.usages, usage => {
        const answer = shape.answer(usage)
        const [one, other] = [relayed(answer, protocol), translated(codec.client.decodeResult(answer).usage)]
        if (!isDeepStrictEqual(one, other))
          throw new Error(`relayed ${JSON.stringify(one)}, translated ${JSON.stringify(other)}`)
      }),
      { numRuns: 1000 },
    )
    t.pass(codec.protocol)
  }
})

const CASES: readonly (readonly [title: string, protocol: string, usage: JsonObject, Charged])[] = [
  [
    'thoughts that are in the total alone, and said to be thoughts',
    'chat',
    json({
      ...{ prompt_tokens: 32, completion_tokens: 9, total_tokens: 135 },
      completion_tokens_details: { reasoning_tokens: 94 },
    }),
    { input: 32, output: 9, reasoning: 94, tokens: 135 },
  ],
  [
    'what is in the total alone is output',
    'chat',
    { prompt_tokens: 11, completion_tokens: 9, total_tokens: 88 },
    { input: 11, output: 77, tokens: 88 },
  ],
  [
    'sound that is in the total alone is input',
    'chat',
    {
      ...{ prompt_tokens: 9, completion_tokens: 248, total_tokens: 632 },
      prompt_tokens_details: { audio_tokens: 375, cached_tokens: 0 },
    },
    { input: 9, output: 248, input_audio: 375, tokens: 632 },
  ],
  [
    'what came from a cache and is in the total alone is input',
    'responses',
    { input_tokens: 5, output_tokens: 7, total_tokens: 112, input_tokens_details: { cached_tokens: 100 } },
    { input: 5, output: 7, cached: 100, tokens: 112 },
  ],
  [
    'the first place of cached tokens counts, and no other is added',
    'chat',
    {
      ...{ prompt_tokens: 100, completion_tokens: 1, prompt_cache_hit_tokens: 64, cached_tokens: 64 },
      prompt_tokens_details: { cached_tokens: 64 },
    },
    { input: 36, output: 1, cached: 64, tokens: 101 },
  ],
  [
    'cached tokens beside the details',
    'chat',
    { prompt_tokens: 100, completion_tokens: 1, num_cached_tokens: 32 },
    { input: 68, output: 1, cached: 32, tokens: 101 },
  ],
  [
    'sound by its modality',
    'generate',
    {
      ...{ promptTokenCount: 1000, candidatesTokenCount: 20, totalTokenCount: 1020 },
      promptTokensDetails: [...details(990, 10)] as JsonObject[],
      candidatesTokensDetails: [{ modality: 'AUDIO', tokenCount: 15 }],
    },
    { input: 10, output: 5, input_audio: 990, output_audio: 15, tokens: 1020 },
  ],
]

for (const [title, protocol, usage, expected] of CASES)
  t.test(`${protocol}: ${title}`, async t => {
    const codec = TEXT_CODECS.find(one => one.protocol === protocol)
    const answer = SHAPES[protocol]?.answer(usage)
    if (codec === undefined || answer === undefined) throw new Error(protocol)
    const read = (await shipped())(protocol)
    t.strictSame(relayed(answer, read), expected, 'relayed')
    t.strictSame(relayedStream([{ data: '{}' }, { data: JSON.stringify(answer) }], read), expected, 'streamed')
    t.strictSame(translated(codec.client.decodeResult(answer).usage), expected, 'translated')
  })

t.test('the oldest interface counts cached tokens in the words of chat', async t => {
  const read = (await shipped())('completions')
  const usage = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 }
  const expected = { input: 36, output: 5, cached: 64, tokens: 105 }
  for (const cached of [{ prompt_tokens_details: { cached_tokens: 64 } }, { prompt_cache_hit_tokens: 64 }]) {
    const answer = { id: 'cmpl-1', choices: [{ index: 0, text: 'a' }], usage: { ...usage, ...cached } }
    t.strictSame(relayed(answer, read), expected)
    t.strictSame(relayedStream([{ data: '{}' }, { data: JSON.stringify(answer) }], read), expected, 'streamed')
  }
})
