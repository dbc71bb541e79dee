import type { ErrorObject } from 'ajv'
import { pathText } from '../core/path-text.js'
import type { Violation } from '../core/violation.js'

/** Maximum number of violations that are reported for one document. */
const MAX_VIOLATIONS = 10
/** Longest value of a client's that a message repeats. */
const MAX_VALUE_CHARS = 64

/** Keywords that only say that another one inside them failed. */
const WRAPPERS = new Set(['if', 'anyOf', 'oneOf', 'allOf', 'not', 'propertyNames'])

/** The message for clients about a document that does not match, in familiar words. Never empty. */
export function violationsOf(errors: readonly ErrorObject[], document: unknown): readonly Violation[] {
  const best = errors.some(isChoice) ? meant(errors.filter(isTelling)) : errors.filter(isTelling)
  const all = mergeTypes(best).map(error => violationOf(error, document))
  const seen = new Set<string>()
  const distinct = all.filter(
    ({ param, message }) => !seen.has(`${param} ${message}`) && seen.add(`${param} ${message}`),
  )
  return distinct.length > 0
    ? distinct.slice(0, MAX_VIOLATIONS)
    : [{ param: '', message: 'The request does not fit the schema.', rule: 'other' }]
}

function isTelling(error: ErrorObject): boolean {
  return !WRAPPERS.has(error.keyword)
}

/** Of the branches of a choice, the one that came furthest is the one that was meant: deepest, and of a fitting type. */
function meant(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const deepest = Math.max(0, ...errors.map(depth))
  const furthest = errors.filter(error => depth(error) === deepest)
  const fitting = furthest.filter(error => error.keyword !== 'type')
  return fitting.length > 0 ? fitting : furthest
}

function isChoice(error: ErrorObject): boolean {
  return error.keyword === 'anyOf' || error.keyword === 'oneOf'
}

function depth(error: ErrorObject): number {
  return error.instancePath.split('/').length
}

/** A value that fits none of several types fails once for each: one violation that names them all. */
function mergeTypes(errors: readonly ErrorObject[]): readonly ErrorObject[] {
  const merged = new Map<string, ErrorObject>()
  const others: ErrorObject[] = []
  for (const error of errors) {
    if (error.keyword !== 'type') {
      others.push(error)
      continue
    }
    const earlier: readonly string[] = [merged.get(error.instancePath)?.params.type ?? []].flat()
    const type = [...new Set([...earlier, ...[error.params.type].flat()])]
    merged.set(error.instancePath, { ...error, params: { type } })
  }
  return [...merged.values(), ...others]
}

function violationOf(error: ErrorObject, document: unknown): Violation {
  const { keyword, params, data } = error
  const path = paramPath(error.instancePath, document)
  const param = pathText(path)
  const quoted = `'${param}'`
  const form = FORMS[keyword]
  if (form !== undefined) return { param, rule: form.rule, message: form.message(quoted, params.limit, data) }
  switch (keyword) {
    case 'required': {
      const missing = pathText([...path, params.missingProperty])
      return { param: missing, rule: 'required', message: `Missing required parameter: '${missing}'.` }
    }
    case 'additionalProperties':
    case 'unevaluatedProperties': {
      const unknown = pathText([...path, params.additionalProperty ?? params.unevaluatedProperty])
      return { param: unknown, rule: 'unknown', message: `Unknown parameter: '${unknown}'.` }
    }
    case 'type':
      return { param, rule: 'type', message: typeMessage(param, params.type, data) }
    case 'enum':
    case 'const': {
      const allowed: readonly unknown[] = params.allowedValues ?? [params.allowedValue]
      return {
        param,
        rule: 'enum',
        message: `Invalid value: ${value(data)}. Supported values are: ${series(allowed.map(value), 'and')}.`,
      }
    }
    case 'pattern':
      return {
        param,
        rule: 'other',
        message: `Invalid ${quoted}: string does not match pattern. Expected a string that matches the pattern '${params.pattern}'.`,
      }
    default:
      return {
        param,
        rule: 'other',
        message: param === '' ? 'The request does not fit the schema.' : `Invalid ${quoted}.`,
      }
  }
}

interface Form {
  readonly rule: Violation['rule']
  readonly message: (param: string, limit: number, data: unknown) => string
}

const decimal = (data: unknown): string => (Number.isInteger(data) ? 'integer' : 'decimal')

const FORMS: Readonly<Record<string, Form>> = {
  minimum: {
    rule: 'range',
    message: (param, limit, data) =>
      `Invalid ${param}: ${decimal(data)} below minimum value. Expected a value >= ${limit}, but got ${value(data)} instead.`,
  },
  maximum: {
    rule: 'range',
    message: (param, limit, data) =>
      `Invalid ${param}: ${decimal(data)} above maximum value. Expected a value <= ${limit}, but got ${value(data)} instead.`,
  },
  exclusiveMinimum: {
    rule: 'range',
    message: (param, limit, data) => `Invalid ${param}: Expected a value > ${limit}, but got ${value(data)} instead.`,
  },
  exclusiveMaximum: {
    rule: 'range',
    message: (param, limit, data) => `Invalid ${param}: Expected a value < ${limit}, but got ${value(data)} instead.`,
  },
  minLength: {
    rule: 'length',
    message: (param, limit, data) =>
      data === ''
        ? `Invalid ${param}: empty string. Expected a string with minimum length ${limit}, but got an empty string instead.`
        : `Invalid ${param}: string too short. Expected a string with minimum length ${limit}, but got a string with length ${lengthOf(data)} instead.`,
  },
  maxLength: {
    rule: 'length',
    message: (param, limit, data) =>
      `Invalid ${param}: string too long. Expected a string with maximum length ${limit}, but got a string with length ${lengthOf(data)} instead.`,
  },
  minItems: {
    rule: 'length',
    message: (param, limit, data) =>
      lengthOf(data) === 0
        ? `Invalid ${param}: empty array. Expected an array with minimum length ${limit}, but got an empty array instead.`
        : `Invalid ${param}: array too short. Expected an array with minimum length ${limit}, but got an array with length ${lengthOf(data)} instead.`,
  },
  maxItems: {
    rule: 'length',
    message: (param, limit, data) =>
      `Invalid ${param}: array too long. Expected an array with maximum length ${limit}, but got an array with length ${lengthOf(data)} instead.`,
  },
}

function lengthOf(data: unknown): number {
  return typeof data === 'string' ? [...data].length : Array.isArray(data) ? data.length : 0
}

function typeMessage(param: string, type: string | readonly string[], data: unknown): string {
  const names = [type].flat()
  // Nearly every field may be null; to say so would hide the type that was meant.
  const telling = names.length > 1 ? names.filter(name => name !== 'null') : names
  const expected = telling.map(name => TYPES[name] ?? name)
  const among = expected.length > 1 ? `one of ${series(expected, 'or')}` : expected.join()
  const what = param === '' ? 'Invalid type for the request' : `Invalid type for '${param}'`
  return `${what}: expected ${among}, but got ${typeOf(data)} instead.`
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'a boolean',
  array: 'an array',
  object: 'an object',
  null: 'null',
}

function typeOf(data: unknown): string {
  if (data === null) return 'null'
  if (Array.isArray(data)) return 'an array'
  if (typeof data === 'number') return Number.isInteger(data) ? 'an integer' : 'a number'
  return TYPES[typeof data] ?? 'something else'
}

function value(data: unknown): string {
  if (typeof data === 'string')
    return `'${data.length > MAX_VALUE_CHARS ? `${data.slice(0, MAX_VALUE_CHARS)}…` : data}'`
  return typeof data === 'object' && data !== null ? typeOf(data) : String(data)
}

function series(words: readonly string[], last: string): string {
  if (words.length < 3) return words.join(` ${last} `)
  return `${words.slice(0, -1).join(', ')}, ${last} ${words.at(-1)}`
}

/** `/messages/3/role` → messages, 3, role. Whether a step is an index is seen in the document. */
function paramPath(pointer: string, document: unknown): (string | number)[] {
  let at = document
  return pointer
    .split('/')
    .slice(1)
    .map(part => {
      const name = part.replaceAll('~1', '/').replaceAll('~0', '~')
      const segment = Array.isArray(at) ? Number(name) : name
      at = typeof at === 'object' && at !== null ? (at as Record<string, unknown>)[name] : undefined
      return segment
    })
}
