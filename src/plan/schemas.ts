import type { JsonObject } from '../core/json.js'
import type { RouteSchema } from '../core/plan.js'
import type { Violation } from '../core/violation.js'
import type { Problems } from './problems.js'

type Validate = (document: unknown) => readonly Violation[]
/** Throws where the schema is not one. */
export type CompileSchema = (schema: JsonObject) => Validate

/** Request schemas by name, each compiled once. */
export class Schemas {
  readonly #schemas: Readonly<Record<string, JsonObject>>
  readonly #compile: CompileSchema
  readonly #problems: Problems
  /** A text says why a schema cannot be used. */
  readonly #made = new Map<string, Validate | string>()

  constructor(schemas: Readonly<Record<string, JsonObject>>, compile: CompileSchema, problems: Problems) {
    this.#schemas = schemas
    this.#compile = compile
    this.#problems = problems
  }

  /** `undefined` where the schema cannot be used; the problem is reported at the route. */
  validator(name: string, route: string, key: 'schema' | 'json' | 'response' = 'schema'): Validate | undefined {
    const made = this.#made.get(name) ?? this.#make(name)
    this.#made.set(name, made)
    if (typeof made === 'function') return made
    const place = key === 'response' ? ['response_schemas', route, 'schema'] : ['routes', route, key]
    this.#problems.error(place, 'bad-schema', `the schema "${name}" cannot be used: ${made}`)
    return undefined
  }

  /** The schema itself, where the route names one. */
  document(name: string | undefined): RouteSchema | undefined {
    const document = name === undefined || !Object.hasOwn(this.#schemas, name) ? undefined : this.#schemas[name]
    return name === undefined || document === undefined ? undefined : { name, document }
  }

  #make(name: string): Validate | string {
    const schema = Object.hasOwn(this.#schemas, name) ? this.#schemas[name] : undefined
    if (schema === undefined) return 'no schema has that name'
    try {
      return this.#compile(schema)
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
  }
}
