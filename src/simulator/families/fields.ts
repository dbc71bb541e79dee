import type { Json, JsonObject } from '../../core/json.js'
import { isObject } from '../../core/json.js'
import { SimulatorError } from '../errors.js'
import { missing, notListed, wrongType } from './refusals.js'

interface Bounds {
  readonly min?: number
  readonly max?: number
}

/**
 * Reads the members of a JSON object and refuses what does not fit, naming it from the top of the body:
 * `messages[3].role`. A member that is null counts as absent. Throws {@link SimulatorError}.
 */
export class Fields {
  readonly object: JsonObject
  readonly #path: string

  constructor(object: JsonObject, path = '') {
    this.object = object
    this.#path = path
  }

  param(name: string): string {
    return this.#path === '' ? name : `${this.#path}.${name}`
  }

  raw(name: string): Json | undefined {
    return Object.hasOwn(this.object, name) ? (this.object[name] ?? undefined) : undefined
  }

  /** The value of a member that must be there. */
  need<T>(name: string, read: (this: Fields, name: string) => T | undefined): T {
    const value = read.call(this, name)
    if (value === undefined) throw missing(this.param(name))
    return value
  }

  string(name: string): string | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'string') return value
    throw wrongType(this.param(name), 'a string', describe(value))
  }

  boolean(name: string): boolean | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'boolean') return value
    throw wrongType(this.param(name), 'a boolean', describe(value))
  }

  integer(name: string, bounds: Bounds = {}): number | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (!Number.isInteger(value)) throw wrongType(this.param(name), 'an integer', describe(value))
    return within(this.param(name), value, 'integer', bounds)
  }

  number(name: string, bounds: Bounds = {}): number | undefined {
    const value = this.raw(name)
    return value === undefined ? undefined : within(this.param(name), value, 'decimal', bounds)
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.string(name)
    if (value === undefined) return undefined
    const listed = values.find(each => each === value)
    if (listed === undefined) throw notListed(this.param(name), value, values)
    return listed
  }

  array(name: string): readonly Json[] | undefined {
    const value = this.raw(name)
    if (value === undefined || Array.isArray(value)) return value
    throw wrongType(this.param(name), 'an array', describe(value))
  }

  fields(name: string): Fields | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (!isObject(value)) throw wrongType(this.param(name), 'an object', describe(value))
    return new Fields(value, this.param(name))
  }

  /** The objects of an array, each with its place in its name. */
  list(name: string): readonly Fields[] | undefined {
    return this.array(name)?.map((value, index) => {
      const param = `${this.param(name)}[${index}]`
      if (!isObject(value)) throw wrongType(param, 'an object', describe(value))
      return new Fields(value, param)
    })
  }

  /** A string or several, as a list. */
  strings(name: string): readonly string[] {
    const value = this.raw(name)
    if (value === undefined) return []
    if (typeof value === 'string') return [value]
    if (Array.isArray(value)) return value.filter(each => typeof each === 'string')
    throw wrongType(this.param(name), 'a string or an array of strings', describe(value))
  }
}

/** A JSON value in the words of an error message. */
export function describe(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function within(
  param: string,
  value: Json,
  kind: 'integer' | 'decimal',
  { min = -Infinity, max = Infinity }: Bounds,
): number {
  if (typeof value !== 'number') throw wrongType(param, `a ${kind}`, describe(value))
  if (value >= min && value <= max) return value
  const [side, sign, bound] = value < min ? (['below_min', '>=', min] as const) : (['above_max', '<=', max] as const)
  const words = value < min ? 'below minimum' : 'above maximum'
  const message = `Invalid '${param}': ${kind} ${words} value. Expected a value ${sign} ${bound}, but got ${value} instead.`
  throw new SimulatorError(400, message, { param, code: `${kind}_${side}_value` })
}
