import type { JsonObject } from '../../core/json.js'
import { isBounded } from '../bounded.js'
import { parseObject } from '../read.js'

/** The arguments of a call as an object (`''` is `{}`); undefined where they are none, or nested too deeply. */
export function inputOf(text: string): JsonObject | undefined {
  const input = parseObject(text)
  return input !== undefined && isBounded(input) ? input : undefined
}
