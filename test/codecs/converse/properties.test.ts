import t from 'tap'
import { converse } from '../../../src/codecs/converse/index.js'
import { fold, unfold } from '../../../src/codecs/fold.js'
import type { Json } from '../../../src/core/json.js'
import type { Part, Seal, TextResult } from '../../../src/core/text.js'
import { fc } from '../../helpers/property.js'
import { answerTo, decodeAll, encodeAll, faultsOf, plain, requestOf } from '../support.js'

const RUNS = { numRuns: 300 }

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
const object = fc.dictionary(fc.string({ maxLength: 4 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
const ownSeal = fc.base64String({ minLength: 4, maxLength: 12 }).map((value): Seal => ({ by: 'converse', value }))
const foreignSeal = fc.record({ by: fc.constantFrom('generate', 'responses', 'chat', 'messages'), value: words })

const text = words.map((text): Part => ({ type: 'text', text }))
const call = fc
  .record({ id: fc.stringMatching(/^[a-z|.]{1,8}$/), name: fc.stringMatching(/^[a-z_]{1,8}$/), input: object })
  .map(({ id, name, input }): Part => ({ type: 'call', id, name, arguments: JSON.stringify(input) }))

function thoughts(seal: fc.Arbitrary<Seal>): fc.Arbitrary<Part> {
  return fc.oneof(
    words.map((text): Part => ({ type: 'reasoning', text })),
    fc.tuple(words, seal).map(([text, seal]): Part => ({ type: 'reasoning', text, seal })),
    seal.map((seal): Part => ({ type: 'reasoning', text: '', redacted: true, seal })),
  )
}

const usage = fc
  .record({ own: fc.nat(), cached: fc.nat(), cacheWrite: fc.nat(), output: fc.nat() })
  .map(({ own, cached, cacheWrite, output }) => ({ input: own + cached + cacheWrite, cached, cacheWrite, output }))

function results(part: fc.Arbitrary<Part>): fc.Arbitrary<TextResult> {
  return fc.record({ parts: fc.array(part, { minLength: 1, maxLength: 5 }), usage }).map(({ parts, usage }) => {
    const reason = parts.some(({ type }) => type === 'call') ? ('tool' as const) : ('stop' as const)
    return { id: 'x', model: 'up', candidates: [{ parts, end: { reason } }], usage }
  })
}

const own = results(fc.oneof(text, call, thoughts(ownSeal)))
const foreign = results(fc.oneof(text, call, thoughts(foreignSeal)))

/** Answers of this protocol have neither an id nor a model. */
const said = ({ candidates, usage }: TextResult): object => ({ candidates, usage })

t.test('a whole answer comes back as it was', async t => {
  fc.assert(
    fc.property(own, result => {
      const body = plain(converse.server.encodeResult(result, answerTo(requestOf())))
      t.same(said(converse.client.decodeResult(body)), said(result))
    }),
    RUNS,
  )
})

t.test('a stream adds up to what it was made of', async t => {
  fc.assert(
    fc.property(own, result => {
      const events = decodeAll(converse, encodeAll(converse, unfold(result), answerTo(requestOf({ stream: true }))))
      t.same(faultsOf(events), [])
      t.same(said(fold(events)), said(result))
    }),
    RUNS,
  )
})

t.test('results have the ids of their calls', async t => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), id => {
      const part: Part = { type: 'call', id, name: 'f', arguments: '{}' }
      const answer = { id: 'x', model: 'up', candidates: [{ parts: [part], end: { reason: 'tool' as const } }] }
      const body = plain(converse.server.encodeResult(answer, answerTo(requestOf()))) as {
        output: { message: { content: [{ toolUse: { toolUseId: string } }] } }
      }
      const { message } = body.output
      const toolResult = { toolUseId: message.content[0].toolUse.toolUseId, content: [{ text: 'Noon.' }] }
      const asked = { messages: [message, { role: 'user', content: [{ toolResult }] }] }
      const { turns } = converse.server.decodeRequest(asked, requestOf())
      t.match(
        turns.map(({ parts }) => parts),
        [[{ type: 'call', id }], [{ type: 'result', id }]],
      )
    }),
    RUNS,
  )
})

t.test('what a client sends back of an answer is what the upstream said, seals of other protocols too', async t => {
  fc.assert(
    fc.property(foreign, result => {
      const body = plain(converse.server.encodeResult(result, answerTo(requestOf()))) as { output: { message: Json } }
      const asked = { messages: [body.output.message] }
      const [turn] = converse.server.decodeRequest(asked, requestOf()).turns
      t.same(
        turn?.parts.map(({ at: _, ...part }) => part),
        result.candidates[0]?.parts,
      )
    }),
    RUNS,
  )
})
