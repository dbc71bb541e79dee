import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type * as AjvModule from 'ajv'
import type { ErrorObject } from 'ajv'
import { isOutOfDescriptors, outOfDescriptors } from '../core/descriptors.js'
import { isObject, type JsonObject } from '../core/json.js'
import type { Violation } from '../core/violation.js'
import { REQUEST_OPTIONS } from './ajv-options.js'
import { SchemaError, schemaError } from './schema-faults.js'
import type { Validator } from './validators.js'
import { violationsOf } from './violations.js'

type RequestCheck = (document: unknown) => readonly Violation[]

const require = createRequire(import.meta.url)
/** Checks that exist already: of shipped schemas, compiled ahead of time, and of those compiled once. */
const compiled = new WeakMap<JsonObject, RequestCheck>()

/**
 * Makes the check of a request schema (draft-07). It stops at the first thing wrong, so a hostile document costs no more
 * than a good one; `format` is not checked. Throws {@link SchemaError} for a schema with unknown keywords, references
 * that lead nowhere, or another draft. Compiling takes milliseconds: do it when loading, never per request.
 */
export function compileSchema(schema: JsonObject): RequestCheck {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  const check = toCheck(compile(schema))
  compiled.set(schema, check)
  return check
}

/** Shipped schemas that were read, by file: they are part of the program. */
const shippedSchemas = new Map<string, JsonObject>()

/** Reads a shipped request schema by name, with the check that was compiled ahead of time where there is one. */
export function shippedSchema(root: string, name: string): JsonObject | undefined {
  const file = join(root, 'schemas', `${name}.json`)
  const known = shippedSchemas.get(file)
  if (known !== undefined) return known
  if (!existsSync(file)) return undefined
  const schema: unknown = JSON.parse(readFileSync(file, 'utf8'))
  if (!isObject(schema)) return undefined
  const generated = join(root, 'schemas/generated', `${name}.generated.cjs`)
  if (existsSync(generated)) compiled.set(schema, loadedAtFirstUse(generated))
  shippedSchemas.set(file, schema)
  return schema
}

/** Names of the request schemas that are shipped. */
export function shippedSchemaNames(root: string): readonly string[] {
  const files = readdirSync(join(root, 'schemas')).filter(file => file.endsWith('.request.json'))
  return files.map(file => file.slice(0, -'.json'.length))
}

/** Checks of shipped schemas that have not been loaded. */
const notLoaded = new Set<() => void>()

/** A start does not wait for them: all together take some 20 ms. Throws `unavailable` where no descriptor is left to read one. */
function loadedAtFirstUse(file: string): RequestCheck {
  let check: RequestCheck | undefined
  const load = (): RequestCheck => {
    if (check !== undefined) return check
    try {
      check = toCheck(require(file))
    } catch (error) {
      throw isOutOfDescriptors(error) ? outOfDescriptors(error) : error
    }
    notLoaded.delete(load)
    return check
  }
  notLoaded.add(load)
  return document => load()(document)
}

/**
 * Loads the checks of the shipped schemas that have been read so far, one in each turn of the event loop: later there may be no
 * descriptor left to read their files. What cannot be loaded is tried again when it is used.
 */
export async function loadChecks(): Promise<void> {
  for (const load of [...notLoaded]) {
    await nextTurn()
    try {
      load()
    } catch {
      return
    }
  }
}

function toCheck(validate: Validator): RequestCheck {
  return document => (validate(document) ? [] : violationsOf(validate.errors ?? [], document))
}

function compile(schema: JsonObject): Validator {
  if (schema.$async !== undefined)
    throw new SchemaError([{ path: ['$async'], message: '$async is not allowed in a request schema' }])
  // ajv is loaded only where a user brings a schema: it takes longer than all the rest of a start.
  const { Ajv }: typeof AjvModule = require('ajv')
  const ajv = new Ajv({ ...REQUEST_OPTIONS, logger: false })
  try {
    return ajv.compile(schema)
  } catch (error) {
    throw schemaError(error, schema, ajv, misfitsOf(schema, ajv))
  }
}

/** All that draft-07 refuses in a schema; compiling stops at the first. */
function misfitsOf(schema: JsonObject, { errors }: AjvModule.Ajv): readonly ErrorObject[] {
  if (errors == null || errors.length === 0) return []
  const { Ajv }: typeof AjvModule = require('ajv')
  const ajv = new Ajv({ ...REQUEST_OPTIONS, logger: false, allErrors: true })
  ajv.validateSchema(schema)
  return ajv.errors ?? errors
}
