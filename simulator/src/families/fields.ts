import { SimulatorError } from '../errors.js'
import type { Json, JsonObject } from '../json.js'
import { isObject } from '../json.js'
import { missing, notListed, unknownParameter, wrongType } from './refusals.js'

interface Bounds {
  readonly min?: number
  readonly max?: number
}

/** A number that lies outside of its bounds. */
interface Outside {
  readonly kind: 'integer' | 'decimal'
  readonly side: 'min' | 'max'
  readonly bound: number
  readonly value: number
}

/** How a family reports an error in a member of the body, and writes the place of a list's item. */
export interface Wording {
  readonly item: (list: string, index: number) => string
  readonly missing: (param: string) => SimulatorError
  readonly wrongType: (param: string, expected: string, got: string) => SimulatorError
  readonly notListed: (param: string, got: string, supported: readonly string[]) => SimulatorError
  readonly outside: (param: string, outside: Outside) => SimulatorError
  readonly unknown: (param: string) => SimulatorError
}

const COMPATIBLE: Wording = {
  item: (list, index) => `${list}[${index}]`,
  missing,
  wrongType,
  notListed,
  outside,
  unknown: unknownParameter,
}

/**
 * Reads the members of a JSON object and refuses what does not fit, naming it from the top of the body:
 * `messages[3].role`. A member that is null counts as absent. Throws {@link SimulatorError}.
 */
export class Fields {
  readonly object: JsonObject
  readonly #path: string
  readonly #words: Wording

  constructor(object: JsonObject, path = '', words: Wording = COMPATIBLE) {
    this.object = object
    this.#path = path
    this.#words = words
  }

  /** The path of this object; empty at the top. */
  get path(): string {
    return this.#path
  }

  /** Throws where there is a member of another name. */
  only(names: readonly string[]): this {
    const stranger = Object.keys(this.object).find(name => !names.includes(name))
    if (stranger !== undefined) throw this.#words.unknown(this.param(stranger))
    return this
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
    if (value === undefined) throw this.missing(name)
    return value
  }

  /** The refusal of a body that lacks this member. */
  missing(name: string): SimulatorError {
    return this.#words.missing(this.param(name))
  }

  string(name: string): string | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'string') return value
    throw this.#words.wrongType(this.param(name), 'a string', describe(value))
  }

  boolean(name: string): boolean | undefined {
    const value = this.raw(name)
    if (value === undefined || typeof value === 'boolean') return value
    throw this.#words.wrongType(this.param(name), 'a boolean', describe(value))
  }

  integer(name: string, bounds: Bounds = {}): number | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (!Number.isInteger(value)) throw this.#words.wrongType(this.param(name), 'an integer', describe(value))
    return this.within(name, value, 'integer', bounds)
  }

  number(name: string, bounds: Bounds = {}): number | undefined {
    const value = this.raw(name)
    return value === undefined ? undefined : this.within(name, value, 'decimal', bounds)
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.string(name)
    if (value === undefined) return undefined
    const listed = values.find(each => each === value)
    if (listed === undefined) throw this.#words.notListed(this.param(name), value, values)
    return listed
  }

  /** One of these values, which must be there. */
  needOneOf<T extends string>(name: string, values: readonly T[]): T {
    const value = this.oneOf(name, values)
    if (value === undefined) throw this.missing(name)
    return value
  }

  /** The strings of a list, each one of these values; a member that is missing is an empty list. */
  someOf<T extends string>(name: string, values: readonly T[]): readonly T[] {
    return (this.array(name) ?? []).map((value, index) => {
      const param = this.#words.item(this.param(name), index)
      if (typeof value !== 'string') throw this.#words.wrongType(param, 'a string', describe(value))
      const listed = values.find(each => each === value)
      if (listed === undefined) throw this.#words.notListed(param, value, values)
      return listed
    })
  }

  array(name: string): readonly Json[] | undefined {
    const value = this.raw(name)
    if (value === undefined || Array.isArray(value)) return value
    throw this.#words.wrongType(this.param(name), 'an array', describe(value))
  }

  fields(name: string): Fields | undefined {
    const value = this.raw(name)
    if (value === undefined) return undefined
    if (!isObject(value)) throw this.#words.wrongType(this.param(name), 'an object', describe(value))
    return new Fields(value, this.param(name), this.#words)
  }

  /** The objects of an array, each with its place in its name. */
  list(name: string): readonly Fields[] | undefined {
    return this.array(name)?.map((value, index) => {
      const param = this.#words.item(this.param(name), index)
      if (!isObject(value)) throw this.#words.wrongType(param, 'an object', describe(value))
      return new Fields(value, param, this.#words)
    })
  }

  /** A string or several, as a list. */
  strings(name: string): readonly string[] {
    const value = this.raw(name)
    if (value === undefined) return []
    if (typeof value === 'string') return [value]
    if (Array.isArray(value)) return value.filter(each => typeof each === 'string')
    throw this.#words.wrongType(this.param(name), 'a string or an array of strings', describe(value))
  }

  private within(
    name: string,
    value: Json,
    kind: Outside['kind'],
    { min = -Infinity, max = Infinity }: Bounds,
  ): number {
    const param = this.param(name)
    if (typeof value !== 'number') throw this.#words.wrongType(param, `a ${kind}`, describe(value))
    if (value >= min && value <= max) return value
    const [side, bound] = value < min ? (['min', min] as const) : (['max', max] as const)
    throw this.#words.outside(param, { kind, side, bound, value })
  }
}

/** A JSON value in the words of an error message. */
export function describe(value: Json): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? 'an integer' : 'a decimal'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function outside(param: string, { kind, side, bound, value }: Outside): SimulatorError {
  const [words, sign] = side === 'min' ? ['below minimum', '>='] : ['above maximum', '<=']
  const message = `Invalid '${param}': ${kind} ${words} value. Expected a value ${sign} ${bound}, but got ${value} instead.`
  const code = `${kind}_${side === 'min' ? 'below_min' : 'above_max'}_value`
  return new SimulatorError(400, message, { param, code })
}
