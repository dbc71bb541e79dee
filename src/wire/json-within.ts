import { type Json, parseJson } from '../core/json.js'
import { costNow, mayExceed } from './json-cost.js'

/** Parses a text of a few MiB; undefined if it is not JSON or has more than `values` values. */
export function parseWithin(text: Buffer, values: number): Json | undefined {
  if (mayExceed(text.length, values) && costNow(text, values).values > values) return undefined
  return parseJson(text.toString('utf8'))
}
