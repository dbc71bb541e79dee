import { looksLikeKey } from '../../config/secret-lines.js'
import type { Json } from '../../core/json.js'
import { variableOf } from './address.js'
import type { View } from './view.js'

type Members = readonly (readonly [name: string, value: View])[]

/** Members of bodies that may hold a secret: not counts of tokens, nor the key of a cache. */
const SECRET_MEMBER = /auth(?!or(?!i[sz]))|secret|passw|credential|cookie|token(?!s)|(?:^|api|(?<!cache)[-_])key$/i
const SECRET_HEADER = /auth|key|token|cookie|secret|passw|credential/i

/** Headers as an upstream has them. What may be a secret is left out, with a finding. */
export function copiedHeaders(members: Members): Readonly<Record<string, string>> {
  const copies = members.map(([name, view]) => {
    const text = /^[\w-]+$/.test(name) ? view.text() : undefined
    if (text === undefined) view.find('unsupported', 'this cannot be a header')
    return [name.toLowerCase(), text && copiedText(view, text, SECRET_HEADER.test(name))] as const
  })
  return Object.fromEntries(copies.flatMap(([name, copy]) => (copy === undefined ? [] : [[name, copy]])))
}

/** Members of a body. Texts that are secrets or variables are left out, at any depth, each with a finding. */
export function copiedMembers(members: Members, isSecret = false, of = ''): readonly (readonly [string, Json])[] {
  return members.flatMap(([name, view]) => {
    // The members of a schema's properties are names, and hold no values.
    const isNamed = of === 'properties'
    const value = copied(view, !isNamed && (isSecret || SECRET_MEMBER.test(name)), isNamed ? '' : name)
    return value === undefined ? [] : [[name, value] as const]
  })
}

function copied(view: View, isSecret: boolean, name: string): Json | undefined {
  const value = view.take()
  if (typeof value === 'string') return copiedText(view, value, isSecret)
  const members = [...view.entries(), ...view.items().map(item => ['', item] as const)]
  const kept = copiedMembers(members, isSecret, name)
  if (kept.length === 0) return members.length === 0 ? value : undefined
  return Array.isArray(value) ? kept.map(([, item]) => item) : Object.fromEntries(kept)
}

function copiedText(view: View, text: string, isSecret: boolean): string | undefined {
  const variable = variableOf(text)
  if (variable === undefined && !isSecret && !looksLikeKey(text)) return text.replaceAll('${', () => '$${')
  const reason = 'it may be a secret, and is not copied'
  view.find('manual', variable === undefined ? reason : `write \${${variable}} for it where that holds no secret`)
  return undefined
}
