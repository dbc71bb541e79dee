import { looksLikeKey } from '../config/secret-lines.js'
import { Secret } from '../core/secret.js'

const MASK = '[secret]'

/** Members whose values may contain a secret in plain text, in any form. */
const HIDDEN: ReadonlySet<string> = new Set(['headers', 'options', 'sha256'])

/**
 * A part of the configuration as JSON that anyone may see: no secret, no digest of one, no value of a header, and no text
 * that looks like a key.
 */
export function masked(value: unknown, isHidden = false): unknown {
  if (value instanceof Secret) return MASK
  if (typeof value === 'string') return isHidden || looksLikeKey(value) ? MASK : value
  if (Array.isArray(value)) return value.map(item => masked(item, isHidden))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, masked(inner, isHidden || HIDDEN.has(name))]),
  )
}
