import type { Ajv, ErrorObject } from 'ajv'
import type { Json, JsonObject } from '../core/json.js'
import { keywordFaults, pathIn, type SchemaFault } from './schema-keywords.js'
import { messageOf, series, shown } from './schema-words.js'
import { suggest } from './suggest.js'

/** Most faults of one schema that are reported. */
const MAX_FAULTS = 20

/** A schema that cannot be used: where in it, and why, in words for its author. Its message is that of the first fault. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
  /** Never empty; as many as are reported. */
  readonly faults: readonly SchemaFault[]

  constructor(faults: readonly [SchemaFault, ...SchemaFault[]]) {
    super(faults[0].message)
    const message = `it has ${faults.length} faults; ${MAX_FAULTS} are reported`
    this.faults =
      faults.length > MAX_FAULTS ? [...faults.slice(0, MAX_FAULTS), { path: [], message, on: 'key' }] : faults
  }
}

/** What is wrong with a schema that `ajv` could not compile: `thrown` is what it threw, `misfits` all that draft-07 refuses in it. */
export function schemaError(
  thrown: unknown,
  schema: JsonObject,
  { RULES }: Ajv,
  misfits: readonly ErrorObject[],
): SchemaError {
  const reason = thrown instanceof Error ? thrown.message : String(thrown)
  if (reason.startsWith('no schema with key or ref') || reason.startsWith('$schema must be')) {
    const message = `only draft-07 is supported (http://json-schema.org/draft-07/schema#), not ${JSON.stringify(schema.$schema)}`
    return new SchemaError([{ path: ['$schema'], message }])
  }
  const [first, ...more] = [...misfitFaults(misfits, schema), ...keywordFaults(schema, reason, RULES)]
  const unknown: SchemaFault = { path: [], message: reason.replace(/^strict mode: /, ''), on: 'key' }
  return new SchemaError([first ?? unknown, ...more])
}

/** What draft-07 says of its own keywords, each place once. */
function misfitFaults(errors: readonly ErrorObject[], schema: JsonObject): readonly SchemaFault[] {
  const places = new Map<string, ErrorObject>()
  for (const error of errors) {
    const { instancePath: place, keyword } = error
    if (/^(anyOf|oneOf|allOf|if)$/.test(keyword)) continue
    // Of the branches of a choice, the one that was looked into was meant, and a list of words says most.
    if (/^(type|enum)$/.test(keyword) && errors.some(other => other.instancePath.startsWith(`${place}/`))) continue
    const known = places.get(place)
    if (known === undefined || (keyword === 'enum' && known.keyword !== 'enum' && typeof error.data === 'string'))
      places.set(place, error)
  }
  return [...places.values()].map(error => misfitFault(error, schema))
}

function misfitFault(error: ErrorObject, schema: JsonObject): SchemaFault {
  const path = pathIn(schema, error.instancePath)
  if (error.keyword !== 'enum') return { path, message: messageOf(error) }
  const allowed: readonly string[] = error.params.allowedValues
  const message = `expected ${series(allowed)}, but found ${shown(error.data as Json)}`
  return { path, message, meant: suggest(String(error.data), allowed) }
}
