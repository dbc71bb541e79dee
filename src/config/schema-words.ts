import type { ErrorObject } from 'ajv'
import { quoted } from './report.js'
import { parseDuration } from './units.js'

const TYPES: Readonly<Record<string, string>> = {
  string: 'a text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
  array: 'a list such as [a, b]',
  object: 'a mapping (name: value)',
  null: 'nothing',
}

/** What is wrong, in words that do not repeat the value: it may be a secret. The schema's own words win. */
export function messageOf(error: ErrorObject): string {
  const { keyword, params } = error
  const words: unknown = error.parentSchema?.patternErrorMessage ?? error.parentSchema?.errorMessage
  if (keyword === 'type') return typeMessage(error, typeof words === 'string' ? words : undefined)
  if (typeof words === 'string') return words
  switch (keyword) {
    case 'minimum':
      return `must be ${params.limit} or more`
    case 'maximum':
      return `must be ${params.limit} or less`
    case 'exclusiveMinimum':
      return `must be over ${params.limit}`
    case 'minItems':
      return params.limit > 1
        ? `the list needs at least ${params.limit} entries`
        : 'the list is empty; at least one entry is needed'
    case 'maxItems':
      return `the list has more than ${params.limit} entries`
    case 'uniqueItems':
      return `entries ${Math.min(params.i, params.j) + 1} and ${Math.max(params.i, params.j) + 1} of the list are the same`
    case 'minProperties':
      return 'the mapping is empty; at least one entry is needed'
    case 'maxProperties':
      return params.limit === 1
        ? 'a list item has one key; write several items'
        : `only ${params.limit} keys are allowed here`
    case 'minLength':
      return 'the string is empty'
    default:
      return 'the value does not have the expected format'
  }
}

function typeMessage(error: ErrorObject, words: string | undefined): string {
  const { data, parentSchema, params } = error
  if (error.instancePath === '' && data === null) return 'the file is empty; `gateway init` writes a first one'
  const expected: unknown = words ?? parentSchema?.['x-expected'] ?? `expected ${typesOf(params.type)}`
  const unquoted = typeof data === 'number' || typeof data === 'boolean'
  const cure = params.type === 'string' && unquoted && !hasUnit(error) ? '; put it in quotes' : ''
  return `${expected}, but found ${kindOf(data)}${cure}`
}

/** Units that people write for those of durations, in the order in which they are looked for. */
const UNITS: readonly (readonly [RegExp, string, number])[] = [
  [/^(ms|msecs?|milliseconds?)$/i, 'ms', 1],
  [/^(s|secs?|seconds?)$/i, 's', 1],
  [/^(m|mins?|minutes?)$/i, 'm', 1],
  [/^(h|hrs?|hours?)$/i, 'h', 1],
  [/^(d|days?)$/i, 'h', 24],
]

/**
 * What a wrong value was probably meant to be: `30` → `30s`, `10sec` → `10s`, `32MB` → `32MiB`, `yes` → `true`,
 * `post /x` → `POST /x`, `North` → `north`.
 */
export function alternative(error: ErrorObject): string | undefined {
  const { data, keyword, params, parentSchema } = error
  if (typeof data === 'object') return undefined
  const text = String(data)
  if (isDuration(error)) return duration(text)
  const asked = String(error.parentSchema?.errorMessage)
  if (keyword === 'type' && typeof data === 'number') {
    if (asked.startsWith('expected a rate')) return `${text}/min`
    if (asked.startsWith('expected a budget')) return `${text} USD/month`
    if (asked.startsWith('expected a number of days')) return `${text}d`
    if (asked.startsWith('expected a share')) return percentage(data)
    if (asked.startsWith('expected an increase')) return `+${percentage(data)}`
  }
  if (keyword === 'pattern' && asked.startsWith('expected an increase'))
    return /^\d+(\.\d+)? ?%$/.test(text) ? `+${text}` : undefined
  if (isSize(error)) return text.replace(/^(\d+) ?([kmg])i?b?$/i, (_, count, unit) => `${count}${unit.toUpperCase()}iB`)
  if (keyword === 'type' && params.type === 'array' && typeof data === 'string' && data.length <= 60)
    return asList(data)
  if (parentSchema?.type === 'boolean')
    return /^(yes|on)$/i.test(text) ? 'true' : /^(no|off)$/i.test(text) ? 'false' : undefined
  if (keyword === 'pattern' && /^[a-z]+ \//.test(text)) return text.replace(/^[a-z]+/, method => method.toUpperCase())
  const words = String(parentSchema?.errorMessage ?? parentSchema?.patternErrorMessage)
  if (keyword === 'pattern' && text.includes('[') && words.startsWith('expected a path'))
    return withoutBrackets(text, params.pattern)
  if (keyword === 'pattern' && words.includes('a name of lower-case letters') && /^[\w.-]+$/.test(text))
    return text.toLowerCase()
  return undefined
}

/** `a` → `[a]`, `a, b` → `[a, b]`, and with the quotes that YAML needs: `*` → `["*"]`. */
function asList(text: string): string {
  const items = text.split(/\s*,\s*/).map(item => (/^[\w./][\w./*-]*$/.test(item) ? item : JSON.stringify(item)))
  return `[${items.join(', ')}]`
}

/** `messages[0].name` → `messages.0.name`, `items[].id` → `items.*.id`, `a["b.c"]` → `a.b\\.c`, where that is a path. */
function withoutBrackets(text: string, pattern: string): string | undefined {
  const dotted = text
    .replaceAll(/\.?\[(?:(["'])([^"']*)\1|([\w*-]*))\]/g, (_, _quote, quoted?: string, bare?: string) =>
      quoted === undefined ? `.${bare || '*'}` : `.${quoted.replaceAll(/[.[\]\\]/g, '\\$&')}`,
    )
    .replace(/^\./, '')
  return dotted !== text && new RegExp(pattern).test(dotted) ? dotted : undefined
}

function duration(text: string): string | undefined {
  if (/^\d+$/.test(text)) return `${text}${text.length < 4 ? 's' : 'ms'}`
  const [, count, word = ''] = /^(\d{1,6}) ?([a-z]+)$/i.exec(text) ?? []
  const unit = UNITS.find(([pattern]) => pattern.test(word))
  const meant = unit && `${Number(count) * unit[2]}${unit[1]}`
  return meant === undefined || parseDuration(meant) === undefined ? undefined : meant
}

function isDuration(error: ErrorObject): boolean {
  return String(error.parentSchema?.errorMessage).includes('duration')
}

/** `5` → `5%`, and a fraction as it is meant: `0.05` → `5%`. */
function percentage(written: number): string {
  return `${written > 0 && written < 1 ? Number((written * 100).toPrecision(6)) : written}%`
}

/** Quotes do not make a number right where a unit or a window is missing. */
function hasUnit(error: ErrorObject): boolean {
  return /duration|number of days|a rate|a budget|a share|an increase/.test(String(error.parentSchema?.errorMessage))
}

function isSize(error: ErrorObject): boolean {
  return /^\d+ ?[kmg]i?b?$/i.test(String(error.data)) && String(error.parentSchema?.errorMessage).includes('size')
}

/** `a, b or c` */
export function series(values: readonly unknown[]): string {
  const words = values.map(String)
  return words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} or ${words.at(-1)}`
}

/** A value of an enumeration as messages show it. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? quoted(value) : kindOf(value)
}

function typesOf(type: string | readonly string[]): string {
  return series([type].flat().map(name => TYPES[name] ?? name))
}

function kindOf(value: unknown): string {
  if (value === null) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a mapping'
  if (typeof value === 'string') return 'a text'
  return typeof value === 'number' ? `the number ${value}` : String(value)
}
