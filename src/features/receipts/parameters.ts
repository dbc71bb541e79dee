import { isObject, type Json } from '../../core/json.js'

/** Larger bodies are not parsed for this, bytes. */
const MAX_BODY_BYTES = 64 * 1024
const MAX_MEMBERS = 64
/** Names of members as protocols have them: no digits, no marks, so that no one's content passes as a name. */
const NAME = /^[a-zA-Z][a-zA-Z_]{0,39}$/
/** Larger numbers may be content: numbers of cards and accounts. */
const MAX_NUMBER = 1e9

/** Members of a body without content: numbers and flags as they are, of texts, lists and objects only that they are there. */
export function parametersOf(body: Buffer): Readonly<Record<string, number | boolean | string>> | undefined {
  if (body.length > MAX_BODY_BYTES) return undefined
  let document: unknown
  try {
    document = JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
  if (!isObject(document)) return undefined
  const found: Record<string, number | boolean | string> = {}
  let count = 0
  for (const name in document) {
    if (!NAME.test(name)) continue
    found[name] = shown(document[name] ?? null)
    if (++count >= MAX_MEMBERS) break
  }
  return found
}

function shown(value: Json): number | boolean | string {
  if (typeof value === 'boolean') return value
  if (typeof value === 'number') return Math.abs(value) <= MAX_NUMBER ? value : 'number'
  if (typeof value === 'string') return 'text'
  if (value === null) return 'null'
  return Array.isArray(value) ? `list of ${value.length}` : 'object'
}
