import type { Json, JsonObject } from '../json.js'
import type { Seed } from '../seed.js'

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
export function allows(schema: JsonObject, value: number): boolean {
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
