import { deepStrictEqual } from 'node:assert/strict'
import t from 'tap'
import { fold, unfold } from '../../../src/codecs/fold.js'
import { responses } from '../../../src/codecs/responses/index.js'
import type { Frame } from '../../../src/core/codec.js'
import type { Citation, Part, TextRequest, TextResult, Turn } from '../../../src/core/text.js'
import { fc } from '../../helpers/property.js'
import { sseFrames } from '../../helpers/text-recordings.js'
import {
  answerTo,
  decodeAll,
  encodeAll,
  faultsOf,
  isTerminal,
  plain,
  readBack,
  requestOf,
  sseOf,
  targetOf,
} from '../support.js'

const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
const name = fc.stringMatching(/^[a-z][a-z_]{0,8}$/)
const json = fc
  .dictionary(name, fc.oneof(word, fc.integer(), fc.boolean()), { maxKeys: 3 })
  .map(one => JSON.stringify(one))
const seal = fc.record({ by: fc.constantFrom('messages', 'generate', 'responses'), value: word })
const count = fc.nat(1e6)

const citation = fc
  .record({ url: fc.webUrl(), title: word, start: fc.nat(3), length: fc.nat(3) })
  .map(({ url, title, start, length }): Citation => ({ url, title, start, end: start + length }))
const token = fc.record({ token: word, logprob: fc.constantFrom(-1, -0.5), bytes: fc.array(fc.nat(255)) })

function sealed<P extends Part>(part: fc.Arbitrary<P>): fc.Arbitrary<P> {
  return fc.tuple(part, fc.option(seal, { nil: undefined })).map(([one, seal]) => (seal ? { ...one, seal } : one))
}

/** Parts of an answer; ids of items that the protocol itself makes are not compared. */
const part: fc.Arbitrary<Part> = fc.oneof(
  sealed(
    fc
      .record({
        text: word,
        citations: fc.array(citation, { maxLength: 2 }),
        logprobs: fc.array(token, { maxLength: 2 }),
      })
      .map(({ text, citations, logprobs }) => ({
        ...{ type: 'text' as const, text },
        ...(citations.length > 0 && { citations }),
        ...(logprobs.length > 0 && { logprobs }),
      })),
  ),
  fc
    .tuple(word, fc.option(seal, { nil: undefined }))
    .map(([text, seal]): Part => ({ type: 'reasoning', text, summary: true, ...(seal && { seal }) })),
  seal.map((seal): Part => ({ type: 'reasoning', text: '', summary: true, seal })),
  word.map((text): Part => ({ type: 'refusal', text })),
  sealed(
    fc.record({ name, json }).map(({ name, json }) => ({ type: 'call' as const, id: 'c', name, arguments: json })),
  ),
  sealed(
    fc
      .record({ name, text: word })
      .map(({ name, text }) => ({ type: 'call' as const, id: 'c', name, arguments: text, custom: true as const })),
  ),
  fc
    .base64String({ minLength: 4, maxLength: 12 })
    .map((base64): Part => ({ type: 'media', kind: 'image', mime: 'image/png', source: { base64 } })),
  word.map((query): Part => ({ type: 'hosted', of: 'responses', value: { type: 'web_search_call', id: 'ws', query } })),
)

const results: fc.Arbitrary<TextResult> = fc
  .record({
    parts: fc.array(part, { maxLength: 6 }),
    usage: fc.option(fc.record({ input: count, output: count, cached: count, reasoning: count }), { nil: undefined }),
    tier: fc.option(fc.constantFrom('default', 'flex', 'priority'), { nil: undefined }),
    cut: fc.boolean(),
  })
  .map(({ parts: given, usage, tier, cut }) => {
    const parts = given.map((part, i): Part => (part.type === 'call' ? { ...part, id: `call_${i}` } : part))
    return {
      id: 'a',
      model: 'up',
      created: 7,
      candidates: [{ parts, end: { reason: cut ? ('length' as const) : reasonOf(parts) } }],
      ...(usage !== undefined && { usage }),
      serviceTier: tier ?? 'default',
    }
  })

function reasonOf(parts: readonly Part[]): 'tool' | 'refusal' | 'stop' {
  if (parts.some(({ type }) => type === 'call')) return 'tool'
  return parts.some(({ type }) => type === 'refusal') ? 'refusal' : 'stop'
}

/** What comes back but for ids of items, and the protocol's own words of a citation. */
function gist(result: TextResult): unknown {
  return JSON.parse(
    JSON.stringify({ ...result, id: '' }, function (this: { type?: unknown }, key, value) {
      const isMade = key === 'item' || key === 'own' || (key === 'id' && this.type === 'reasoning')
      return isMade ? undefined : (value as unknown)
    }),
  )
}

function framesOf(result: TextResult): readonly Frame[] {
  return encodeAll(responses, unfold(result), answerTo(requestOf({ stream: true })))
}

t.test('an answer that is written and read is the same', async () => {
  fc.assert(
    fc.property(results, result => {
      const body = plain(responses.server.encodeResult(result, answerTo(requestOf())))
      deepStrictEqual(gist(responses.client.decodeResult(body)), gist(result))
    }),
    { numRuns: 500 },
  )
})

t.test('a stream that is written and read adds up to the answer', async () => {
  fc.assert(
    fc.property(results, result => {
      const events = decodeAll(responses, framesOf(result))
      deepStrictEqual(faultsOf(events), [])
      deepStrictEqual(gist(fold(events)), gist(result))
    }),
    { numRuns: 500 },
  )
})

t.test('the last event of a stream repeats what the whole answer would be', async () => {
  fc.assert(
    fc.property(results, result => {
      const last = JSON.parse(framesOf(result).at(-1)?.data ?? '') as { response: unknown }
      const whole = plain(responses.server.encodeResult(result, answerTo(requestOf())))
      deepStrictEqual(withoutIds(last.response), withoutIds(whole))
    }),
    { numRuns: 300 },
  )
})

function withoutIds(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, (key, value) => (key === 'id' ? undefined : (value as unknown))))
}

t.test('servers that send no pieces, or no ends, or nothing but the end, say the same', async () => {
  fc.assert(
    fc.property(results, result => {
      const frames = framesOf(result)
      const expected = gist(fold(decodeAll(responses, frames)))
      for (const [name, left] of Object.entries({
        pieces: /\.delta$|annotation\.added$/,
        'ends of parts': /(text|part|refusal|input|arguments)\.done$/,
        announcements: /part\.added$/,
      })) {
        const events = decodeAll(
          responses,
          frames.filter(({ event = '' }) => !left.test(event)),
        )
        deepStrictEqual(faultsOf(events), [], name)
        deepStrictEqual(gist(fold(events)), expected, name)
      }
      const ends = decodeAll(responses, frames.slice(-1))
      deepStrictEqual(faultsOf(ends), [])
      deepStrictEqual(gist(fold(ends)), expected)
    }),
    { numRuns: 300 },
  )
})

t.test('a stream whose bytes are cut anywhere gives the same events; one that breaks off there, an error', async () => {
  fc.assert(
    fc.property(results, fc.nat(), (result, at) => {
      const frames = framesOf(result)
      const bytes = sseOf(frames)
      const cut = at % bytes.length
      const [head, tail] = [bytes.subarray(0, cut), bytes.subarray(cut)]
      deepStrictEqual(sseFrames(head, tail), frames)
      const broken = decodeAll(responses, sseFrames(head)).filter(isTerminal)
      const isWhole = sseFrames(head).length === frames.length
      deepStrictEqual(
        broken.map(({ type }) => type),
        [isWhole ? 'finish' : 'error'],
      )
    }),
    { numRuns: 300 },
  )
})

const history: fc.Arbitrary<readonly Turn[]> = fc.oneof(
  word.map((text): readonly Turn[] => [{ role: 'user', parts: [{ type: 'text', text }] }]),
  word.map((text): readonly Turn[] => [{ role: 'system', parts: [{ type: 'text', text }] }]),
  fc
    .array(fc.record({ name, json, answer: word, custom: fc.boolean() }), { minLength: 1, maxLength: 3 })
    .map((calls): readonly Turn[] => [
      {
        role: 'assistant',
        parts: [
          { type: 'reasoning', text: 'Hm.', summary: true, id: 'rs_1', seal: { by: 'responses', value: 'x' } },
          ...calls.map(({ name, json, custom }, i) => ({
            ...{ type: 'call' as const, id: `call_${i}`, name, arguments: json },
            ...(custom && { custom: true as const }),
          })),
        ],
      },
      {
        role: 'user',
        parts: calls.map(({ answer, custom }, i) => ({
          ...{ type: 'result' as const, id: `call_${i}`, parts: [{ type: 'text' as const, text: answer }] },
          ...(custom && { custom: true as const }),
        })),
      },
      { role: 'user', parts: [{ type: 'text', text: 'Go on.' }] },
    ]),
)

const requests: fc.Arbitrary<TextRequest> = fc
  .record(
    {
      turns: fc.array(history, { maxLength: 5 }),
      maxTokens: fc.integer({ min: 16, max: 1e6 }),
      temperature: fc.constantFrom(0, 0.5, 2),
      topP: fc.constantFrom(0.1, 1),
      logprobs: fc.integer({ min: 0, max: 20 }),
      verbosity: fc.constantFrom('low' as const, 'high' as const),
      format: fc.oneof(
        fc.constant({ type: 'json' as const }),
        fc.record({
          ...{ type: fc.constant('schema' as const), schema: fc.constant({ type: 'object' }) },
          ...{ name, strict: fc.boolean() },
        }),
      ),
      reasoning: fc.record({
        effort: fc.constantFrom('low' as const, 'high' as const),
        show: fc.constantFrom('auto' as const, 'detailed' as const),
        sealed: fc.constant(true),
      }),
      user: word.filter(one => one.length <= 64),
      metadata: fc.dictionary(
        name.filter(one => one !== 'at'),
        word,
        { noNullPrototype: true, minKeys: 1 },
      ),
      store: fc.boolean(),
    },
    { requiredKeys: ['turns', 'reasoning', 'store'] },
  )
  .map(({ turns, ...rest }) =>
    requestOf({
      ...rest,
      system: [{ type: 'text', text: 'Be brief.' }],
      turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hello.' }] }, ...turns.flat()],
      model: 'upstream-model',
    }),
  )

t.test('a request that is written and read is the same, and nothing of it is lost', async () => {
  fc.assert(
    fc.property(requests, request => {
      const target = targetOf(responses)
      const back = readBack(responses, request, target)
      deepStrictEqual(
        JSON.parse(JSON.stringify(back, (key, value) => (key === 'at' ? undefined : (value as unknown)))),
        plain(request),
      )
      deepStrictEqual(target.lost, [])
    }),
    { numRuns: 500 },
  )
})
