import t from 'tap'
import { fold, unfold } from '../../../src/codecs/fold.js'
import { generate } from '../../../src/codecs/generate/index.js'
import type { JsonObject } from '../../../src/core/json.js'
import type { Part, Seal, TextResult } from '../../../src/core/text.js'
import { fc } from '../../helpers/property.js'
import { answer, encodeStream, eventsOf, HEAD, target } from './support.js'

const seal: fc.Arbitrary<Seal> = fc.record({
  by: fc.constantFrom('messages', 'responses'),
  value: fc.string({ maxLength: 30 }),
})
const ownSeal: fc.Arbitrary<Seal> = fc.record({ by: fc.constant('generate'), value: fc.base64String({ minLength: 4 }) })
const sealed = fc.option(fc.oneof(seal, ownSeal), { nil: undefined })
const text = fc.string({ unit: 'grapheme', minLength: 1 })
const args = fc
  .dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 3 })
  .map(value => JSON.stringify(value))

function withSeal<T extends object>(part: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return fc.tuple(part, sealed).map(([each, seal]) => (seal === undefined ? each : { ...each, seal }))
}

const part: fc.Arbitrary<Part> = fc.oneof(
  withSeal(fc.record({ type: fc.constant('text' as const), text })),
  withSeal(fc.record({ type: fc.constant('reasoning' as const), text, summary: fc.constant(true) })),
  withSeal(
    fc.record({
      type: fc.constant('call' as const),
      id: fc.constant(''),
      name: fc.string({ minLength: 1 }),
      arguments: args,
    }),
  ),
  withSeal(
    fc.record({
      type: fc.constant('media' as const),
      kind: fc.constant('image' as const),
      mime: fc.constant('image/png'),
      source: fc.base64String({ minLength: 4 }).map(base64 => ({ base64 })),
    }),
  ),
  fc.constant<Part>({ type: 'hosted', of: 'generate', value: { executableCode: { code: '1', language: 'PYTHON' } } }),
)

/** Answers as this protocol can say them whole: seals once, calls with ids of their own. */
const result: fc.Arbitrary<TextResult> = fc
  .record({
    all: fc.array(fc.array(part, { maxLength: 6 }), { minLength: 1, maxLength: 3 }),
    usage: fc.option(fc.record({ input: fc.nat(), output: fc.nat() }), { nil: undefined }),
    reason: fc.constantFrom('length', 'filter', 'other'),
  })
  .map(({ all, usage, reason }) => {
    let calls = 0
    const candidates = all.map(parts => {
      const own = parts.map(each => (each.type === 'call' ? { ...each, id: `call_${calls++}` } : each))
      return { parts: merged(own), end: { reason } as const }
    })
    return { id: 'r1', model: 'm', candidates, ...(usage !== undefined && { usage }) }
  })

/** Neighbours of one kind are one part where no seal is between: documents cannot tell them apart. */
function merged(parts: readonly Part[]): Part[] {
  const out: Part[] = []
  for (const each of parts) {
    const last = out.at(-1)
    if ((each.type === 'text' || each.type === 'reasoning') && last?.type === each.type && last.seal === undefined) {
      out[out.length - 1] = { ...last, ...each, text: last.text + each.text } as Part
    } else out.push(each)
  }
  return out
}

/** Seals of others come back wrapped, as a client would send them. */
function wrapped(read: TextResult): TextResult {
  const candidates = read.candidates.map(({ parts, end }) => ({ end, parts: parts.map(each => unwrapped(each)) }))
  return { ...read, candidates }
}

function unwrapped(part: Part): Part {
  if (part.seal === undefined) return part
  const contents = [{ role: 'model', parts: [{ text: 'x', thoughtSignature: part.seal.value }] }]
  const seal = generate.server.decodeRequest({ contents }, HEAD).turns[0]?.parts[0]?.seal
  return seal === undefined ? part : { ...part, seal }
}

t.test('an answer comes back whole', async t => {
  fc.assert(
    fc.property(result, sent => {
      const body = JSON.parse(JSON.stringify(generate.server.encodeResult(sent, answer()))) as JsonObject
      t.strictSame(plain(wrapped(generate.client.decodeResult(body))), plain(sent))
    }),
  )
})

t.test('and as a stream', async t => {
  fc.assert(
    fc.property(result, sent => {
      t.strictSame(plain(wrapped(fold(eventsOf(encodeStream(unfold(sent)))))), plain(sent))
    }),
  )
})

t.test('a request that was encoded once is encoded the same again', async t => {
  const turn = fc.record({
    role: fc.constantFrom('user' as const, 'assistant' as const),
    parts: fc.array(part, { maxLength: 4 }),
  })
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 5 }), fc.constantFrom('level', 'budget', undefined), (turns, reasoning) => {
      const traits = reasoning === undefined ? {} : { reasoning: reasoning as 'level' | 'budget' }
      const usable = turns.map(({ role, parts }) => ({
        role,
        parts: parts.filter(({ type }) => role === 'assistant' || type === 'text' || type === 'media'),
      }))
      const base = { model: 'm', stream: false, streamUsage: true, system: [], tools: [], left: [] }
      const again = (body: JsonObject): JsonObject =>
        generate.client.encodeRequest(generate.server.decodeRequest(body, HEAD), target(traits))
      // Neighbouring texts of the model are one text from then on.
      const body = again(generate.client.encodeRequest({ ...base, turns: usable }, target(traits)))
      t.strictSame(again(body), body)
    }),
  )
})

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
