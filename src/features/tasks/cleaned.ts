import { isObject, type Json } from '../../core/json.js'
import type { TaskTarget } from '../../core/plan.js'
import type { Generation } from '../../kernel/generation.js'
import { cleanedText, withoutCredential } from '../../kernel/translate/words.js'
import type { Reading } from './reading.js'

/**
 * What an upstream says of a task, safe to show: errors without credentials and without the upstream's address, other
 * values without the upstream's credential. The values of a failed task are treated as errors.
 */
export function cleaned(reading: Reading, generation: Generation, { upstream }: TaskTarget): Reading {
  const clean = (text: string): string => cleanedText(text, generation, upstream)
  const { error, state, fields } = reading
  const hasFailed = error !== undefined || state === 'failed' || state === 'cancelled'
  const change = hasFailed ? clean : (text: string): string => withoutCredential(text, generation, upstream)
  return {
    ...reading,
    fields: Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, withTexts(value, change)])),
    error: error && { code: error.code && clean(error.code), message: clean(error.message) },
  }
}

/** Recursion is safe: answers about tasks are of bounded depth. */
function withTexts(value: Json, change: (text: string) => string): Json {
  if (typeof value === 'string') return change(value)
  if (Array.isArray(value)) return (value as readonly Json[]).map(item => withTexts(item, change))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withTexts(inner, change)]))
}
