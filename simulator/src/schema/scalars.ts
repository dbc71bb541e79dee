import type { Json, JsonObject } from '../json.js'
import type { Seed } from '../seed.js'
import { textForPattern } from './pattern.js'
import { bound, typeOf } from './settle.js'

const MAX_STRING_CHARS = 2000
const WORDS = ['alpha', 'bravo', 'cedar', 'delta', 'ember', 'fjord', 'grove', 'harbour', 'island', 'juniper'] as const

const FORMATS: ReadonlyMap<string, (seed: Seed) => string> = new Map([
  ['date', seed => moment(seed).slice(0, 10)],
  ['time', seed => moment(seed).slice(11)],
  ['date-time', seed => moment(seed)],
  ['duration', seed => `PT${1 + seed.below(59)}M`],
  ['email', seed => `${seed.pick(WORDS)}@example.com`],
  ['hostname', seed => `${seed.pick(WORDS)}.example.com`],
  ['ipv4', seed => `192.0.2.${1 + seed.below(254)}`],
  ['ipv6', seed => `2001:db8::${1 + seed.below(9)}`],
  ['uuid', uuid],
  ['uri', seed => `https://example.com/${seed.pick(WORDS)}`],
  ['uri-reference', seed => `/${seed.pick(WORDS)}`],
  ['json-pointer', seed => `/${seed.pick(WORDS)}`],
  ['byte', seed => Buffer.from(seed.pick(WORDS)).toString('base64')],
])

/** A string for a schema: its pattern if that is simple, else its format, else a word, all within its lengths. */
export function stringFor(schema: JsonObject, seed: Seed): string {
  const { pattern, format } = schema
  const least = Math.min(bound(schema.minLength, 0), MAX_STRING_CHARS)
  const most = Math.min(bound(schema.maxLength, MAX_STRING_CHARS), MAX_STRING_CHARS)
  const patterned = typeof pattern === 'string' ? textForPattern(pattern, seed, least) : undefined
  if (patterned !== undefined) return patterned
  const formatted = typeof format === 'string' ? FORMATS.get(format)?.(seed) : undefined
  return (
    formatted ??
    seed
      .pick(WORDS)
      .padEnd(least, ` ${WORDS.join(' ')}`)
      .slice(0, most)
  )
}

function moment(seed: Seed): string {
  return `${new Date(seed.created() * 1000).toISOString().slice(0, 19)}Z`
}

/** Version 4 as RFC 9562 writes it; its random bits come from the seed. */
function uuid(seed: Seed): string {
  const hex = seed.hex(32)
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20)].join('-')
}

const SPAN = 99

interface Range {
  readonly low: number
  readonly high: number
}

/** A number within the bounds of a schema; near the lower bound where they leave no room. */
export function numberFor(schema: JsonObject, seed: Seed, integer: boolean): number {
  const range = finite(rangeOf(schema))
  const multiple = finiteOr(schema.multipleOf, 0)
  const step = multiple > 0 ? multiple : integer ? 1 : undefined
  return step === undefined ? between(range, seed) : onSteps(schema, range, step, seed)
}

/** Whether a schema of a number allows this one. */
function allows(schema: JsonObject, value: number): boolean {
  const { low, high } = rangeOf(schema)
  const multiple = finiteOr(schema.multipleOf, 0)
  const inRange = Number.isFinite(value) && value >= low && value <= high && !isExcluded(schema, value)
  return inRange && (multiple <= 0 || Number.isInteger(value / multiple))
}

function rangeOf(schema: JsonObject): Range {
  return {
    low: Math.max(finiteOr(schema.minimum, -Infinity), finiteOr(schema.exclusiveMinimum, -Infinity)),
    high: Math.min(finiteOr(schema.maximum, Infinity), finiteOr(schema.exclusiveMaximum, Infinity)),
  }
}

function finite({ low, high }: Range): Range {
  if (low === -Infinity && high === Infinity) return { low: 1, high: 1 + SPAN }
  return { low: low === -Infinity ? high - SPAN : low, high: high === Infinity ? low + SPAN : high }
}

function onSteps(schema: JsonObject, { low, high }: Range, step: number, seed: Seed): number {
  let first = Math.ceil(low / step)
  let last = Math.floor(high / step)
  if (isExcluded(schema, first * step)) first += 1
  if (isExcluded(schema, last * step)) last -= 1
  const value = (first + seed.below(Math.max(1, last - first + 1))) * step
  return Number.isInteger(step) ? value : Number(value.toPrecision(12))
}

function between({ low, high }: Range, seed: Seed): number {
  if (high <= low) return low
  const exact = low + (high - low) * (0.01 + 0.98 * seed.fraction())
  const rounded = Math.round(exact * 100) / 100
  return rounded > low && rounded < high ? rounded : exact
}

function isExcluded(schema: JsonObject, value: number): boolean {
  return schema.exclusiveMinimum === value || schema.exclusiveMaximum === value
}

function finiteOr(value: Json | undefined, otherwise: number): number {
  return typeof value === 'number' ? value : otherwise
}

/** Wished values for top-level properties, by name, as text. */
export type Hints = ReadonlyMap<string, string>

export const NO_HINTS: Hints = new Map()

/** The wished value in the schema's type, or nothing where the schema would not take it. */
export function hinted(schema: JsonObject, hint: string | undefined): Json | undefined {
  if (hint === undefined || UNSURE.some(name => schema[name] !== undefined)) return undefined
  const { enum: listed } = schema
  if (Array.isArray(listed)) return listed.find(each => String(each) === hint)
  switch (typeOf(schema)) {
    case 'boolean':
      return hint === 'true' ? true : hint === 'false' ? false : undefined
    case 'integer':
      return Number.isSafeInteger(Number(hint)) && allows(schema, Number(hint)) ? Number(hint) : undefined
    case 'number':
      return allows(schema, Number(hint)) ? Number(hint) : undefined
    case 'string':
      return fits(schema, hint) ? hint : undefined
    default:
      return undefined
  }
}

const UNSURE = ['$ref', 'anyOf', 'oneOf', 'const', 'pattern'] as const

const HINT_FORMATS: ReadonlyMap<unknown, RegExp> = new Map([
  ['email', /^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$/],
  ['uri', /^https?:\/\/\S+$/],
  ['date', /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/],
])

function fits(schema: JsonObject, hint: string): boolean {
  if (schema.format !== undefined && HINT_FORMATS.get(schema.format)?.test(hint) !== true) return false
  return hint.length >= bound(schema.minLength, 0) && hint.length <= bound(schema.maxLength, hint.length)
}
