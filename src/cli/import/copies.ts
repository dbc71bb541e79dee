import { looksLikeKey } from '../../config/secret-lines.js'
import type { Json } from '../../core/json.js'
import { variableOf } from './address.js'
import type { View } from './view.js'

type Members = readonly (readonly [name: string, value: View])[]

/** Members of bodies that may hold a secret: not counts of tokens, nor the key of a cache. */
const SECRET_MEMBER = /auth|secret|passw|credential|cookie|token(?!s)|(?:^|api|(?<!cache)[-_])key$/i
const SECRET_HEADER = /auth|key|token|cookie|secret|passw|credential/i

/** Headers as an upstream has them. What may be a secret is left out, with a finding. */
export function copiedHeaders(members: Members): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const [name, value] of members) {
    const text = value.text()
    if (!/^[\w-]+$/.test(name) || text === undefined) value.find('unsupported', 'this cannot be a header')
    else {
      const copy = copiedText(value, text, SECRET_HEADER.test(name))
      if (copy !== undefined) found[name.toLowerCase()] = copy
    }
  }
  return found
}

/** Members of a body. Texts that are secrets or variables are left out, at any depth, each with a finding. */
export function copiedMembers(members: Members, isSecret = false): readonly (readonly [string, Json])[] {
  return members.flatMap(([name, view]) => {
    const value = copied(view, isSecret || SECRET_MEMBER.test(name))
    return value === undefined ? [] : [[name, value] as const]
  })
}

function copied(view: View, isSecret: boolean): Json | undefined {
  const value = view.take()
  if (typeof value === 'string') return copiedText(view, value, isSecret)
  const members = [...view.entries(), ...view.items().map(item => ['', item] as const)]
  const kept = copiedMembers(members, isSecret)
  if (kept.length === 0) return members.length === 0 ? value : undefined
  return Array.isArray(value) ? kept.map(([, item]) => item) : Object.fromEntries(kept)
}

function copiedText(view: View, text: string, isSecret: boolean): string | undefined {
  const variable = variableOf(text)
  if (variable === undefined && !isSecret && !looksLikeKey(text)) return plainText(text)
  const reason = 'it may be a secret, and is not copied'
  view.find('manual', variable === undefined ? reason : `write \${${variable}} for it where that holds no secret`)
  return undefined
}

/** A text in which this gateway fills in no variables. */
export function plainText(text: string): string {
  return text.replaceAll('${', () => '$${')
}
