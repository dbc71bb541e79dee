import { isObject } from '../../core/json.js'
import type { Item } from './items.js'

/**
 * Whether an item is only a reference to another one: by its type, or because it has neither a type nor a role, as the
 * protocol's reference allows.
 */
export function isReference({ type, role, id }: Item): boolean {
  if (type === 'item_reference') return true
  return (type === undefined || type === null) && role === undefined && typeof id === 'string'
}

/** The ids that the items of a request's `input` refer to, in order. */
export function referencesIn(input: unknown): readonly string[] {
  if (!Array.isArray(input)) return []
  return input.flatMap(item => (isObject(item) && isReference(item) ? [idOf(item)] : []))
}

/** The reference's id; empty, which matches nothing, if it has none. */
export function idOf({ id }: Item): string {
  return typeof id === 'string' ? id : ''
}

/** An escaped letter: a member's name that contains one cannot be found by a search. */
const ESCAPED_LETTER = /\\u00(?:4[1-9a-f]|5[0-9a]|6[1-9a-f]|7[0-9a])/i

/** Whether a request's JSON may contain a reference: not without a member `id`. */
export function mayRefer(bytes: Buffer): boolean {
  return bytes.includes('"id"') || (bytes.includes('\\u00') && ESCAPED_LETTER.test(bytes.toString('latin1')))
}
