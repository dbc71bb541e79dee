import { native, nativeArray } from '../../families/native.js'
import type { Faults } from '../../faults/table.js'
import { endpoint, json, type Protocol } from '../../protocol.js'
import { type Candidate, type Generated, generate, type PieceOfPart } from './candidates.js'
import { batchEmbedContents, embedContent } from './embed.js'
import { nativeModelById, nativeModels } from './models.js'
import { predict } from './predict.js'
import { readGenerate } from './request.js'
import { arrayStream, eventStream, JSON_HEADERS } from './stream.js'
import { countTokens, type Spent, usageMetadata } from './usage.js'

const OPERATION = '/v1beta/models/{model}:generateContent'
const SHARED = { operation: OPERATION, body: 'json', models: ['sim-generate'] } as const

/** `POST /v1beta/models/{model}:generateContent`. */
const generateContent = endpoint(native, `POST ${OPERATION}`, SHARED, call =>
  json(whole(generate(readGenerate(call), call), call.faults), 200, JSON_HEADERS),
)

const STREAM = 'POST /v1beta/models/{model}:streamGenerateContent'

/** `POST /v1beta/models/{model}:streamGenerateContent?alt=sse`. */
const streamEvents = endpoint(native, STREAM, { ...SHARED, serves: (_, query) => query.get('alt') === 'sse' }, call =>
  eventStream(chunks(generate(readGenerate(call), call), call.faults), call.requestId),
)

/** The same without `alt=sse`. */
const streamArray = endpoint(nativeArray, STREAM, SHARED, call =>
  arrayStream(chunks(generate(readGenerate(call), call), call.faults), call.requestId),
)

export const GENERATE: readonly Protocol[] = [
  generateContent,
  streamEvents,
  streamArray,
  countTokens,
  embedContent,
  batchEmbedContents,
  predict,
  nativeModels,
  nativeModelById,
]

const NOTHING: Spent = { output: 0, thoughts: 0 }

/** The whole answer. */
function whole(generated: Generated, faults: Faults): object {
  const { candidates } = generated
  const spent = candidates.flatMap(({ pieces }) => pieces.map(piece => piece.spent)).reduce(add, NOTHING)
  return document(generated, candidates.map(wholeCandidate), spent, faults)
}

/** The documents of a stream: new parts only, the candidates by turns; the usage is what has been spent so far. */
function* chunks(generated: Generated, faults: Faults): Generator<{ document: object; last: boolean }> {
  const { candidates } = generated
  let spent = NOTHING
  let open = candidates.length
  if (open === 0) yield { document: document(generated, [], spent, faults), last: true }
  const longest = Math.max(0, ...candidates.map(({ pieces }) => pieces.length))
  for (let at = 0; at <= longest; at += 1) {
    for (const candidate of candidates) {
      const piece = candidate.pieces[at]
      if (piece !== undefined) spent = add(spent, piece.spent)
      if (piece?.part !== undefined) {
        const part = { content: { parts: [piece.part], role: 'model' }, index: candidate.index }
        yield { document: document(generated, [part], spent, faults), last: false }
      }
      if (at !== candidate.pieces.length) continue
      open -= 1
      yield { document: document(generated, [lastCandidate(candidate)], spent, faults), last: open === 0 }
    }
  }
}

function document(generated: Generated, candidates: readonly object[], spent: Spent, faults: Faults): object {
  const { id, model, prompt } = generated
  const blocked = generated.candidates.length === 0
  return {
    ...(blocked ? { promptFeedback: { blockReason: 'SAFETY' } } : { candidates }),
    usageMetadata: usageMetadata(prompt, spent, faults),
    modelVersion: model,
    responseId: id,
  }
}

function wholeCandidate({ index, pieces, finish, signature, more }: Candidate): object {
  const parts = merged(pieces.flatMap(({ part }) => (part === undefined ? [] : [part])))
  const last = parts.at(-1)
  const signed =
    signature === undefined || last === undefined
      ? parts
      : [...parts.slice(0, -1), { ...last, thoughtSignature: signature }]
  const content = signed.length === 0 ? { role: 'model' } : { parts: signed, role: 'model' }
  return { content, finishReason: finish, index, ...more }
}

/** Carries the reason, an empty text and the signature of the text before it. */
function lastCandidate({ index, finish, signature, more }: Candidate): object {
  const signed = signature === undefined ? {} : { thoughtSignature: signature }
  return { content: { parts: [{ text: '', ...signed }], role: 'model' }, finishReason: finish, index, ...more }
}

function merged(pieces: readonly PieceOfPart[]): readonly PieceOfPart[] {
  const parts: PieceOfPart[] = []
  for (const piece of pieces) {
    const last = parts.at(-1)
    const joins = 'text' in piece && last !== undefined && 'text' in last && last.thought === piece.thought
    if (joins) parts[parts.length - 1] = { ...last, text: last.text + piece.text }
    else parts.push(piece)
  }
  return parts
}

function add(a: Spent, b: Spent): Spent {
  return { output: a.output + b.output, thoughts: a.thoughts + b.thoughts }
}
