import { looksLikeKey } from '../../config/secret-lines.js'
import type { View } from './view.js'

/** Headers as an upstream has them. What may be a secret is left out, with a finding. */
export function headersIn(view: View): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const [name, value] of view.entries()) {
    const text = value.text() ?? ''
    if (!/^[\w-]+$/.test(name)) value.find('unsupported', 'a header cannot have this name')
    else if (isCopied(name, text)) found[name.toLowerCase()] = text
    else value.find('manual', 'it may be a secret, and is not copied')
  }
  return found
}

/** Whether a header of a foreign file can be copied, and holds no secret. */
export function isCopied(name: string, value: string): boolean {
  return /^[\w-]+$/.test(name) && !/auth|key|token|cookie|secret/i.test(name) && !looksLikeKey(value)
}
