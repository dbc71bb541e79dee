import { type Json, parseJson } from '../core/json.js'
import { costNow, mayExceed } from './json-cost.js'

/** The document that a text of some MiB is; undefined where it is not JSON, or has more values than that. */
export function parseWithin(text: Buffer, values: number): Json | undefined {
  if (mayExceed(text.length, values) && costNow(text, values).values > values) return undefined
  return parseJson(text.toString('utf8'))
}
