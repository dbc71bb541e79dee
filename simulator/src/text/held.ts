import { isObject, type Json, type JsonObject } from '../json.js'
import { type Hints, hinted } from '../schema/scalars.js'
import { MAX_PARTS, settle, strings, typeOf } from '../schema/settle.js'

/** What a prompt says of a tool's arguments. */
interface Held {
  /** Values by the names of properties, as text. */
  readonly hints: Hints
  /** Whether every argument that the schema requires is among them. */
  readonly whole: boolean
  /** Whether the values say by themselves what they are for: a sum, two numbers, an address. */
  readonly plain: boolean
}

/** A question, not a document: of longer texts nothing is concluded. */
const MAX_TEXT_CHARS = 400

type Kind = 'url' | 'email' | 'date' | 'path' | 'sum' | 'code' | 'words' | 'name'

/** What a text is by the name of its argument; of several the first that fits. */
const KINDS: readonly (readonly [RegExp, Kind])[] = [
  [/ur[il]|link|website/i, 'url'],
  [/e-?mail|recipient/i, 'email'],
  [/date|^day$|^when$/i, 'date'],
  [/path|file|dir(?:ectory)?$/i, 'path'],
  [/expression|formula|equation|calculation/i, 'sum'],
  [/command|cmd|script|code|pattern|regex/i, 'code'],
  [/query|question|search|text|input|message|prompt|topic|keyword|sentence|content|subject|term/i, 'words'],
]

const NAME = String.raw`\p{Lu}[\p{L}\p{N}'\u2019.-]*(?:,? \p{Lu}[\p{L}\p{N}'\u2019.-]*)*`
const PLACES = 'in|at|for|from|to|of|near|about|by|with'
const NUMBER = /(?<![\p{L}\d.])-?\d+(?:\.\d+)?(?![\p{L}\d])/gu

const FOUND: Readonly<Record<Kind, readonly RegExp[]>> = {
  url: [/\bhttps?:\/\/[^\s"'<>)]*[^\s"'<>).,!?]/giu],
  email: [/(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+/gu],
  date: [/\b\d{4}-\d\d-\d\d\b/gu, /\b(?:today|tomorrow|yesterday|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b/giu],
  path: [/(?<!\S)(?:\.{0,2}\/)?[\w.-]+(?:\/[\w.-]+)*\.[A-Za-z]\w{0,4}\b/gu, /(?<!\S)(?:~|\.{1,2})?\/[\w./-]*\w/gu],
  sum: [/[\d(][\d\s().]{0,40}[-+*/^\u00d7\u00f7%x][-+*/^\u00d7\u00f7%x\d\s().]{0,80}[\d)]/gu],
  code: [/`([^`\n]+)`/gu],
  words: [/\b(?:for|about|on|of)\s+(?:the\s+)?([^?!.\n]+)/giu, /^([^?!\n]+)/gu],
  name: [
    new RegExp(`\\b(?:is|${PLACES})\\s+(${NAME})`, 'gu'),
    new RegExp(`(?<=[\\p{L}\\p{N},;:] )(${NAME})`, 'gu'),
    new RegExp(`\\b(?:${PLACES})\\s+(?:the |a |an )?(\\p{Ll}[\\p{L}'’-]*(?: \\p{Ll}[\\p{L}'’-]*)?)`, 'gu'),
  ],
}
const QUOTED = /"([^"\n]{1,200})"|\u201c([^\u201d\n]{1,200})\u201d|(?<![\p{L}\p{N}])'([^'\n]{1,200})'(?![\p{L}])/gu
/** Kinds whose values are recognised in any text. */
const EVIDENT: ReadonlySet<Kind> = new Set(['url', 'email', 'sum'])
/** Words after a name that do not belong to it. */
const TRAILING = /[ ,]{1,3}(?:please|today|tomorrow|now|right|currently|like|yesterday|tonight|this|using|and|or|is)$/i
const NO_NAME = /^(?:me|you|it|the|a|an|this|that|them|us|my|your|today|tomorrow|now|i|i'm|what|how|who|why)$/i

/**
 * Looks in a prompt for the arguments of a tool: `name=value` first, then words of an enum, numbers in their order, and for
 * texts what is quoted or what their names lead to expect, such as the place in "What is the weather in Paris?".
 */
export function heldIn(text: string, schema: JsonObject | undefined): Held {
  const properties = isObject(schema?.properties) ? schema.properties : {}
  const required = strings(schema?.required)
  const given = hintsIn(text)
  const hints = new Map(given)
  const evident: string[] = []
  const parts = { left: MAX_PARTS }
  const settled = (name: string): JsonObject => {
    const property = properties[name]
    return isObject(property) ? settle(property, schema ?? {}, parts) : {}
  }
  const search = new Search(text.length > MAX_TEXT_CHARS ? '' : text)
  for (const name of [...required, ...Object.keys(properties).filter(name => !required.includes(name))]) {
    const property = settled(name)
    if (hinted(property, given.get(name)) !== undefined) continue
    const found = search.valueFor(name, property, required.includes(name))
    if (found === undefined || hinted(property, found.value) === undefined) continue
    hints.set(name, found.value)
    if (found.evident && required.includes(name)) evident.push(name)
  }
  const whole = required.every(name => {
    const property = settled(name)
    return hinted(property, hints.get(name)) !== undefined || strings(property.type).includes('null')
  })
  const numbers = evident.filter(name => isNumber(settled(name))).length
  return { hints, whole, plain: whole && evident.length > 0 && evident.length === required.length && numbers !== 1 }
}

function isNumber(schema: JsonObject): boolean {
  return ['integer', 'number'].includes(typeOf(schema))
}

interface Found {
  readonly value: string
  readonly evident: boolean
}

/** Values of one text; none is found twice. */
class Search {
  readonly #text: string
  readonly #taken = new Set<string>()

  constructor(text: string) {
    this.#text = text
  }

  /** Of what is optional only words of an enum are looked for: a number may be meant for anything. */
  valueFor(name: string, schema: JsonObject, required: boolean): Found | undefined {
    const { enum: listed } = schema
    if (Array.isArray(listed)) return this.#word(listed)
    if (!required) return undefined
    if (isNumber(schema)) return this.#first([NUMBER], true)
    if (typeOf(schema) !== 'string') return undefined
    const kind = kindOf(name, schema)
    const quoted = EVIDENT.has(kind) ? undefined : this.#first([QUOTED], false)
    return quoted ?? this.#first(FOUND[kind], EVIDENT.has(kind))
  }

  #word(listed: readonly Json[]): Found | undefined {
    const words = ` ${this.#text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ')} `
    const found = listed.find(
      each => typeof each === 'string' && words.includes(` ${each.toLowerCase().replace(/[_-]/g, ' ')} `),
    )
    return found === undefined ? undefined : { value: String(found), evident: false }
  }

  #first(patterns: readonly RegExp[], evident: boolean): Found | undefined {
    for (const pattern of patterns) {
      for (const [whole, ...groups] of this.#text.matchAll(pattern)) {
        const value = trimmed(groups.find(group => group !== undefined) ?? whole)
        if (value === '' || NO_NAME.test(value) || this.#taken.has(value)) continue
        this.#taken.add(value)
        return { value, evident }
      }
    }
    return undefined
  }
}

function trimmed(value: string): string {
  let text = value.trim().replace(/(?<![.,;:])[.,;:]+$/, '')
  while (TRAILING.test(text)) text = text.replace(TRAILING, '')
  return text.trim()
}

function kindOf(name: string, { format }: JsonObject): Kind {
  if (format === 'uri' || format === 'url') return 'url'
  if (format === 'email' || format === 'date') return format
  return KINDS.find(([pattern]) => pattern.test(name))?.[1] ?? 'name'
}

const MAX_READ_CHARS = 2000
const HINT = /([A-Za-z_]\w{0,63})\s{0,3}[=:]\s{0,3}("[^"\n]{0,200}"|[^\s,;"]{1,200})/g

/**
 * `name=value` and `name: "some value"` pairs in the first 2,000 characters of a text: a tester writes
 * "call get_weather with city=Paris", and the argument `city` is `Paris` where the tool's schema allows it.
 */
export function hintsIn(text: string): ReadonlyMap<string, string> {
  const hints = new Map<string, string>()
  for (const [, name, value] of text.slice(0, MAX_READ_CHARS).matchAll(HINT)) {
    if (name !== undefined && value !== undefined) hints.set(name, value.replace(/^"|"$/g, '').replace(/[.!?]$/, ''))
  }
  return hints
}
