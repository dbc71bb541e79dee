import { looksLikeKey } from '../../config/secret-lines.js'

/** Whether a header of a foreign file is better not copied. */
export function mayBeSecret(name: string, value: string): boolean {
  return /auth|key|token|cookie|secret/i.test(name) || looksLikeKey(value)
}
