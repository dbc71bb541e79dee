import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { HeldBody } from '../../kernel/body.js'

/** Larger bodies are not parsed for this, bytes. */
const MAX_BODY_BYTES = 64 * 1024
const MAX_MEMBERS = 64
/** Names of members as protocols have them: no digits, no marks, so that no one's content passes as a name. */
const NAME = /^[a-zA-Z][a-zA-Z_]{0,39}$/
/** Larger numbers may be content: numbers of cards and accounts. */
const MAX_NUMBER = 1e9

/** Members of a body without content, as JSON: numbers and flags as they are, of texts, lists and objects only that they are there. */
export function parametersOf(body: Pick<HeldBody, 'bytes' | 'document'>): string | undefined {
  const document = body.document ?? parsed(body.bytes)
  if (document === undefined) return undefined
  let text = ''
  let count = 0
  for (const name in document) {
    if (!NAME.test(name)) continue
    text += `${count === 0 ? '' : ','}"${name}":${shown(document[name] ?? null)}`
    if (++count >= MAX_MEMBERS) break
  }
  return `{${text}}`
}

function parsed(body: Buffer): JsonObject | undefined {
  if (body.length > MAX_BODY_BYTES) return undefined
  try {
    const document: unknown = JSON.parse(body.toString('utf8'))
    return isObject(document) ? document : undefined
  } catch {
    return undefined
  }
}

function shown(value: Json): string {
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number') return Math.abs(value) <= MAX_NUMBER ? String(value) : '"number"'
  if (typeof value === 'string') return '"text"'
  if (value === null) return '"null"'
  return Array.isArray(value) ? `"list of ${value.length}"` : '"object"'
}
