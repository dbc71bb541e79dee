import type { Carry, FieldMapping } from '../../core/fields.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Translation } from '../../core/plan.js'

/** What became of a member of a translated request. */
export interface FieldRow {
  /** By the client's protocol; `[]`: of elements. */
  readonly field: string
  /** `here`: it has done its work at the gateway. `by_content`: it depends on what it holds. */
  readonly verdict: 'carried' | 'approximated' | 'dropped' | 'refused' | 'here' | 'by_content'
  readonly why?: string
}

/** Most rows of one request, and most members and elements that are looked at. */
const MAX_ROWS = 60
const MAX_LOOKED_AT = 2000

const tables = new WeakMap<Translation, ReadonlyMap<string, FieldRow>>()

/** The members of a request by the codecs' own tables. Elements of lists are named only if they do not go out as they are. */
export function fieldRows(translation: Translation, document: JsonObject): readonly FieldRow[] {
  const table = tables.get(translation) ?? tableOf(translation)
  tables.set(translation, table)
  const rows = new Map<string, FieldRow>()
  let left = MAX_LOOKED_AT
  const visit = (value: Json, path: string): void => {
    if (left-- <= 0 || rows.size >= MAX_ROWS) return
    const row = table.get(path)
    const isPlain = row?.verdict === 'carried' || row?.verdict === 'by_content'
    if (row !== undefined && !(isPlain && path.includes('[]'))) rows.set(path, row)
    if (Array.isArray(value)) for (const item of value) visitMembers(item, `${path}[].`)
    else visitMembers(value, `${path}.`)
  }
  const visitMembers = (value: Json, prefix: string): void => {
    if (isObject(value)) for (const [name, inner] of Object.entries(value)) visit(inner, prefix + name)
  }
  visitMembers(document, '')
  return [...rows.values()]
}

/** We are the server for the caller's protocol, and the client of the upstream's. Codecs that count tokens have no tables. */
function tableOf({ server: { server }, client: { client } }: Translation): ReadonlyMap<string, FieldRow> {
  const fields: Readonly<Record<string, FieldMapping<string>>> = 'fields' in server ? server.fields : {}
  const carries: Readonly<Record<string, Carry>> = 'carries' in client ? client.carries : {}
  return new Map(Object.entries(fields).map(([field, mapping]) => [field, rowOf(field, mapping, carries)]))
}

function rowOf(field: string, mapping: FieldMapping<string>, carries: Readonly<Record<string, Carry>>): FieldRow {
  if (typeof mapping === 'string') return { field, ...outcomeOf(carries[mapping]) }
  if ('here' in mapping) return { field, verdict: 'here', why: mapping.here }
  if ('left' in mapping) return { field, verdict: 'dropped', why: mapping.left }
  const outcomes = mapping.map(name => outcomeOf(carries[name]))
  const [first] = outcomes
  const isOne = first !== undefined && outcomes.every(({ verdict }) => verdict === first.verdict)
  return isOne && first.verdict === 'carried' ? { field, ...first } : { field, verdict: 'by_content' }
}

function outcomeOf(carry: Carry = 'carried'): Omit<FieldRow, 'field'> {
  if (carry === 'carried') return { verdict: 'carried' }
  if ('approximated' in carry) return { verdict: 'approximated', why: carry.approximated }
  if ('dropped' in carry) return { verdict: 'dropped', why: carry.dropped }
  return { verdict: 'refused', why: carry.refused }
}
