import { resolve } from 'node:path'
import { isObject, type Json, type JsonObject } from '../core/json.js'
import { type Context, interpolate } from './context.js'
import { Site } from './document.js'
import type { Entries, Entry } from './entries.js'
import { openFile } from './open.js'
import { listed, quoted } from './report.js'
import type { ReadRoute } from './routes.js'
import { SchemaError } from './schema-faults.js'
import { compileSchema, shippedSchema, shippedSchemaNames } from './schemas.js'
import { suggest } from './suggest.js'

/** Schemas that routes, and `others`, refer to, by name: the user's, which are compiled to see that they can be, or shipped ones. */
export function readRequestSchemas(
  entries: Entries<string | JsonObject>,
  routes: ReadonlyMap<string, ReadRoute>,
  others: readonly NamedSchema[],
  shippedRoot: string,
  context: Context,
): Record<string, JsonObject> {
  const own = new Map([...entries.values()].map(entry => [entry.name, readOwn(entry, context)]))
  const schemas: Record<string, JsonObject> = Object.create(null)
  for (const { name, site, value } of [...[...routes.values()].flatMap(namesIn), ...others]) {
    if (Object.hasOwn(schemas, name)) continue
    if (value !== undefined) own.set(name, readOwn({ name, site, value, written: value }, context))
    const schema = own.get(name) ?? (own.has(name) ? undefined : shippedSchema(shippedRoot, name))
    if (schema !== undefined) {
      schemas[name] = schema
    } else if (!own.has(name)) {
      const known = listed(own.keys())
      const message = `no schema is called ${quoted(name)}${known === undefined ? '' : `; schemas has: ${known}`}`
      context.report.error('dangling-reference', site, message, {
        meant: () => suggest(name, [...own.keys(), ...shippedSchemaNames(shippedRoot)]),
        of: 'schemas',
      })
    }
  }
  return schemas
}

/** A schema that a route names, or has itself. */
export interface NamedSchema {
  readonly name: string
  readonly site: Site
  /** The schema itself, if the route has it. */
  readonly value: JsonObject | undefined
}

/** The schemas that a route names or has, and where it does. */
function namesIn({ config, site, schemas }: ReadRoute): readonly NamedSchema[] {
  return (['schema', 'json'] as const).flatMap(key => {
    const name = config[key]
    return name === undefined ? [] : [{ name, site: site.child(key), value: schemas.get(name) }]
  })
}

function readOwn({ site, value }: Entry<string | JsonObject>, context: Context): JsonObject | undefined {
  if (value === undefined) return undefined
  const found = typeof value === 'string' ? readFile(value, site, context) : { content: value, site }
  if (found === undefined) return undefined
  // Plain objects with plain prototypes, aliases written out: what a compiler of schemas expects.
  const schema: Json = JSON.parse(JSON.stringify(found.content))
  if (!isObject(schema)) {
    context.report.error('bad-schema', found.site, 'a schema has to be a mapping (or a JSON object)')
    return undefined
  }
  try {
    compileSchema(schema)
    return schema
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    for (const { path, message, meant, on = 'value' } of error.faults) {
      const site = found.site.child(...path)
      context.report.error('bad-schema', site, `this schema cannot be used: ${message}`, { on, meant: () => meant })
    }
    return undefined
  }
}

function readFile(
  written: string,
  site: Site,
  context: Context,
): { readonly content: Json; readonly site: Site } | undefined {
  const path = resolve(site.document.source.folder, interpolate(written, site, context))
  const kind = context.files.kindOf(path)
  if (kind !== 'file') {
    const reason = kind === 'folder' ? 'it is a folder' : 'there is no such file'
    context.report.error('unreadable-file', site, `cannot read this schema: ${reason}`)
    return undefined
  }
  const document = openFile(path, 'any', false, context)
  return document && { content: document.tree.value, site: new Site(document, []) }
}
