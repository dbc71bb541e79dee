import { isObject, type Json } from '../core/json.js'

/** Deepest nesting of values that pass through as they are. */
const MAX_DEPTH = 512

/** Whether a value can be written as JSON without exhausting the stack. Iterative, for values that anyone may send. */
export function isBounded(value: Json): boolean {
  let level: readonly Json[] = [value]
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    const next: Json[] = []
    for (const one of level) {
      const inner = Array.isArray(one) ? (one as readonly Json[]) : isObject(one) ? Object.values(one) : []
      for (const each of inner) if (typeof each === 'object' && each !== null) next.push(each)
    }
    if (next.length === 0) return true
    level = next
  }
  return false
}
