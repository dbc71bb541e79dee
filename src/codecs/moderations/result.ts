import type { AnswerContext } from '../../core/codec.js'
import { isObject, type JsonObject } from '../../core/json.js'
import type { TextResult } from '../../core/text.js'
import { arrayOf, badUpstream, numberOf, parseObject } from '../read.js'
import { CATEGORIES, memberOf } from './question.js'
import { type Input, readInputs } from './request.js'

/** From this score on a category counts as found. */
const FLAG_THRESHOLD = 0.5

/** Categories that the protocol supports for images; the others are for texts only. */
const SHOWN: ReadonlySet<string> = new Set([
  ...['sexual', 'self-harm', 'self-harm/intent', 'self-harm/instructions', 'violence', 'violence/graphic'],
])

/**
 * What a model of texts answered as CreateModerationResponse. Throws `bad_upstream_response` where it is not a judgement of
 * every input: nothing passes as harmless because no one judged it.
 */
export function encodeResult(result: TextResult, { request, body, newId }: AnswerContext): JsonObject {
  const inputs = readInputs(body)
  const text = (result.candidates[0]?.parts ?? []).map(part => (part.type === 'text' ? part.text : '')).join('')
  const judged = arrayOf(parseObject(text)?.results)
  if (judged.length !== inputs.length) throw badUpstream('The model did not judge every input.')
  return {
    id: newId('modr-'),
    model: request.model,
    results: inputs.map((input, i) => {
      const one = judged[i]
      return judgement(isObject(one) ? one : {}, input)
    }),
  }
}

function judgement(judged: JsonObject, { parts }: Input): JsonObject {
  const scores = CATEGORIES.map(category => [category, scoreOf(judged, category)] as const)
  const types = [...new Set(parts.map(({ type }) => (type === 'text' ? 'text' : 'image')))]
  return {
    flagged: scores.some(([, score]) => score >= FLAG_THRESHOLD),
    categories: Object.fromEntries(scores.map(([category, score]) => [category, score >= FLAG_THRESHOLD])),
    category_scores: Object.fromEntries(scores),
    category_applied_input_types: Object.fromEntries(
      CATEGORIES.map(category => [category, types.filter(type => type === 'text' || SHOWN.has(category))]),
    ),
  }
}

/** Not every protocol holds a model to the bounds of numbers: what lies beyond them stands for the bound. */
function scoreOf(judged: JsonObject, category: string): number {
  const name = memberOf(category)
  const score = Object.hasOwn(judged, name) ? numberOf(judged[name]) : undefined
  if (score === undefined) throw badUpstream(`The model gave no score of ${category}.`)
  return Math.min(1, Math.max(0, score))
}
