import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { CommandError, EXIT, type Io, print, printable } from '../io.js'
import { type Asked, askObject } from './ask.js'

/** Numbers of an embedding that are shown. */
const SHOWN_NUMBERS = 5
const DIGITS = 4

/** The dimensions of the text's embedding, and its first numbers. */
export async function embed({ target, model, text }: Asked, io: Io): Promise<void> {
  const [first] = objectsIn((await askObject(target, '/v1/embeddings', { model, input: text })).data)
  const vector = first?.embedding
  if (!Array.isArray(vector) || vector.length === 0) throw new CommandError('the answer has no embedding', EXIT.failed)
  const shown = vector.slice(0, SHOWN_NUMBERS).map(number => Number(number).toFixed(DIGITS))
  const rest = vector.length > SHOWN_NUMBERS ? ', …' : ''
  print(io.stdout, `${vector.length} dimensions: ${shown.join(', ')}${rest}`)
}

/** The documents, the one that fits the text best first, with their scores. */
export async function rerank({ target, model, text }: Asked, documents: readonly string[], io: Io): Promise<void> {
  const answer = await askObject(target, '/v1/rerank', { model, query: text, documents: [...documents] })
  const ranked = objectsIn(answer.results).map(({ index, relevance_score: score }) => {
    const document = documents[Number(index)]
    return document === undefined ? '' : `${Number(score).toFixed(DIGITS)}  ${printable(document)}\n`
  })
  if (ranked.length === 0) throw new CommandError('the answer ranks nothing', EXIT.failed)
  io.stdout.write(ranked.join(''))
}

/** Whether the text is flagged, and the categories with their scores. */
export async function moderate({ target, model, text }: Asked, io: Io): Promise<void> {
  const [result] = objectsIn((await askObject(target, '/v1/moderations', { model, input: text })).results)
  if (result === undefined) throw new CommandError('the answer has no result', EXIT.failed)
  const { categories = null, category_scores: scores = null } = result
  const named = Object.entries(isObject(categories) ? categories : {}).flatMap(([name, isFlagged]) => {
    const score = isObject(scores) ? scores[name] : undefined
    return isFlagged === true
      ? [`${printable(name)}${typeof score === 'number' ? ` ${score.toFixed(DIGITS)}` : ''}`]
      : []
  })
  if (result.flagged !== true) print(io.stdout, 'not flagged')
  else print(io.stdout, named.length === 0 ? 'flagged' : `flagged: ${named.join(', ')}`)
}

function objectsIn(value: Json | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly Json[]).filter(isObject) : []
}
