import type { FieldMapping } from './fields.js'
import type { JsonObject } from './json.js'

/** How a protocol's clients write the canonical fields: the codec's own table. */
export type ClientFields = Readonly<Record<string, FieldMapping<string>>>

/** How the client wrote a canonical field: the first of its members that is in the body, without the `[]` of lists. */
export function clientName(fields: ClientFields, field: string, body: JsonObject): string {
  const names = Object.keys(fields).filter(name => holds(fields[name], field))
  return names.find(name => stands(body, name.split('.'))) ?? names[0] ?? field
}

function holds(held: FieldMapping<string> | undefined, field: string): boolean {
  return held === field || (Array.isArray(held) && held.includes(field))
}

/** Whether a dotted path leads somewhere; a list is taken for granted where it is one. */
function stands(body: JsonObject, [name = '', ...rest]: readonly string[]): boolean {
  const bare = name.endsWith('[]') ? name.slice(0, -2) : name
  if (!Object.hasOwn(body, bare)) return false
  const value = body[bare]
  if (rest.length === 0 || Array.isArray(value)) return true
  return typeof value === 'object' && value !== null && stands(value as JsonObject, rest)
}
