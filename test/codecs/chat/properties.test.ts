import { deepStrictEqual } from 'node:assert/strict'
import t from 'tap'
import { chat } from '../../../src/codecs/chat/index.js'
import { fold, unfold } from '../../../src/codecs/fold.js'
import type { Citation, Part, ReasoningPart, TextRequest, TextResult, Turn } from '../../../src/core/text.js'
import { fc } from '../../helpers/property.js'
import { answerTo, decodeAll, encodeAll, faultsOf, plain, readBack, requestOf, targetOf } from '../support.js'

const word = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
const name = fc.stringMatching(/^[a-z][a-z_]{0,8}$/)
const json = fc
  .dictionary(name, fc.oneof(word, fc.integer(), fc.boolean()), { maxKeys: 3 })
  .map(one => JSON.stringify(one))
const foreignSeal = fc.record({ by: fc.constantFrom('messages', 'responses', 'generate'), value: word })

/** What every protocol of the family can have in an answer, in the order in which a message holds it. */
const parts: fc.Arbitrary<readonly Part[]> = fc
  .record({
    thoughts: fc.oneof(
      fc.array(sealedThought(), { maxLength: 3 }),
      plainThought().map(one => [one]),
    ),
    text: fc.option(textPart(), { nil: undefined }),
    refusal: fc.option(word, { nil: undefined }),
    images: fc.array(fc.base64String({ minLength: 4, maxLength: 12 }), { maxLength: 2 }),
    calls: fc.array(fc.record({ name, json, seal: fc.option(foreignSeal, { nil: undefined }) }), { maxLength: 3 }),
  })
  .map(({ thoughts, text, refusal, images, calls }): readonly Part[] => [
    ...thoughts,
    ...(text === undefined ? [] : [text]),
    ...(refusal === undefined ? [] : [{ type: 'refusal' as const, text: refusal }]),
    ...images.map(base64 => ({
      ...{ type: 'media' as const, kind: 'image' as const, mime: 'image/png', source: { base64 } },
    })),
    ...calls.map(({ name, json, seal }, i) => ({
      ...{ type: 'call' as const, id: `call_${i}`, name, arguments: json },
      ...(seal !== undefined && { seal }),
    })),
  ])

function sealedThought(): fc.Arbitrary<ReasoningPart> {
  return fc
    .record({ text: fc.oneof(word, fc.constant('')), seal: foreignSeal })
    .map(({ text, seal }) => ({ type: 'reasoning', text, seal }))
}

/** Comes back with the word where it stood. */
function plainThought(): fc.Arbitrary<ReasoningPart> {
  return word.map(text => ({ type: 'reasoning', text, seal: { by: 'chat', value: 'reasoning_content' } }))
}

function textPart(): fc.Arbitrary<Part> {
  const citation = fc
    .record({ url: fc.webUrl(), title: word, from: fc.nat(3), length: fc.nat(3) })
    .map(({ url, title, from, length }): Citation => ({ url, title, start: from, end: from + length }))
  const token = fc.record({ token: word, logprob: fc.constantFrom(-1, -0.5), bytes: fc.array(fc.nat(255)) })
  return fc
    .record({
      text: word,
      citations: fc.array(citation, { maxLength: 2 }),
      logprobs: fc.array(token, { maxLength: 2 }),
      seal: fc.option(foreignSeal, { nil: undefined }),
    })
    .map(
      ({ text, citations, logprobs, seal }): Part => ({
        ...{ type: 'text', text },
        ...(citations.length > 0 && { citations }),
        ...(logprobs.length > 0 && { logprobs }),
        ...(seal !== undefined && { seal }),
      }),
    )
}

const count = fc.nat(1e6)
const results: fc.Arbitrary<TextResult> = fc
  .record({
    candidates: fc.array(parts, { minLength: 1, maxLength: 3 }),
    usage: fc.option(fc.record({ input: count, output: count, cached: count, reasoning: count }), { nil: undefined }),
    tier: fc.option(fc.constantFrom('default', 'flex', 'priority'), { nil: undefined }),
    reason: fc.constantFrom('stop' as const, 'length' as const, 'filter' as const),
  })
  .map(({ candidates, usage, tier, reason }) => ({
    id: 'chatcmpl-1',
    model: 'upstream-model',
    created: 1_700_000_000,
    candidates: candidates.map(parts => ({ parts, end: { reason: endOf(parts, reason) } })),
    ...(usage !== undefined && { usage }),
    ...(tier !== undefined && usage !== undefined && { serviceTier: tier }),
  }))

/** `stop` is what the answer holds. */
function endOf(
  parts: readonly Part[],
  reason: 'stop' | 'length' | 'filter',
): 'stop' | 'length' | 'filter' | 'tool' | 'refusal' {
  if (reason !== 'stop') return reason
  if (parts.some(({ type }) => type === 'call')) return 'tool'
  return parts.some(({ type }) => type === 'refusal') ? 'refusal' : 'stop'
}

t.test('an answer that is written and read is the same', async t => {
  fc.assert(
    fc.property(results, result => {
      const body = plain(chat.server.encodeResult(result, answerTo(requestOf())))
      deepStrictEqual(plain(chat.client.decodeResult(body)), plain(result))
    }),
    { numRuns: 500 },
  )
  t.pass()
})

t.test('a stream that is written and read adds up to the answer', async t => {
  fc.assert(
    fc.property(results, result => {
      const frames = encodeAll(chat, unfold(result), answerTo(requestOf({ stream: true, streamUsage: true })))
      const events = decodeAll(chat, frames)
      deepStrictEqual(faultsOf(events), [])
      deepStrictEqual(plain(fold(events)), plain(result))
    }),
    { numRuns: 500 },
  )
  t.pass()
})

const turn: fc.Arbitrary<readonly Turn[]> = fc.oneof(
  fc
    .record({ text: word, name: fc.option(name, { nil: undefined }) })
    .map(({ text, name }): readonly Turn[] => [
      { role: 'user', parts: [{ type: 'text', text }], ...(name !== undefined && { name }) },
    ]),
  word.map((text): readonly Turn[] => [{ role: 'system', parts: [{ type: 'text', text }] }]),
  fc.array(fc.record({ name, json, answer: word }), { minLength: 1, maxLength: 3 }).map((calls): readonly Turn[] => [
    {
      role: 'assistant',
      parts: calls.map(({ name, json }, i) => ({ type: 'call', id: `call_${i}`, name, arguments: json })),
    },
    {
      role: 'user',
      parts: calls.map(({ answer }, i) => ({
        type: 'result',
        id: `call_${i}`,
        parts: [{ type: 'text', text: answer }],
      })),
    },
  ]),
)

const requests: fc.Arbitrary<TextRequest> = fc
  .record(
    {
      turns: fc.array(turn, { maxLength: 5 }),
      system: fc.array(word, { maxLength: 3 }),
      maxTokens: count,
      temperature: fc.constantFrom(0, 0.5, 2),
      topP: fc.constantFrom(0.1, 1),
      stop: fc.array(word, { minLength: 1, maxLength: 4 }),
      seed: count,
      candidates: fc.integer({ min: 1, max: 4 }),
      logprobs: fc.integer({ min: 0, max: 20 }),
      verbosity: fc.constantFrom('low' as const, 'high' as const),
      format: fc.oneof(
        fc.constant({ type: 'json' as const }),
        fc.record({
          type: fc.constant('schema' as const),
          schema: fc.constant({ type: 'object' }),
          name,
          strict: fc.boolean(),
        }),
      ),
      user: word.filter(one => one.length <= 64),
      metadata: fc.dictionary(
        name.filter(one => one !== 'at'),
        word,
        { noNullPrototype: true, minKeys: 1 },
      ),
      store: fc.boolean(),
    },
    { requiredKeys: ['turns', 'system'] },
  )
  .map(({ turns, system, ...rest }) =>
    requestOf({
      ...rest,
      ...(rest.metadata !== undefined && { store: true }),
      system: system.map(text => ({ type: 'text', text })),
      turns: [{ role: 'user', parts: [{ type: 'text', text: 'Hello.' }] }, ...turns.flat()],
      model: 'upstream-model',
      streamUsage: false,
    }),
  )

t.test('a request that is written and read is the same, and nothing of it is lost', async t => {
  fc.assert(
    fc.property(requests, request => {
      const target = targetOf(chat)
      deepStrictEqual(withoutPlaces(readBack(chat, request, target)), plain(request))
      deepStrictEqual(target.lost, [])
    }),
    { numRuns: 500 },
  )
  t.pass()
})

function withoutPlaces(request: TextRequest): unknown {
  return JSON.parse(JSON.stringify(request, (key, value) => (key === 'at' ? undefined : value)))
}
