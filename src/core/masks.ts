import { CutTexts, type TextRule, withChanges } from './cut-texts.js'
import { ExactNumber, type Json } from './json.js'

/** What can be masked of texts. `keys`: what looks like a key. */
export type MaskName = 'emails' | 'cards' | 'phones' | 'addresses' | 'keys'

interface Mask {
  readonly pattern: RegExp
  /** Of what the pattern finds; absent: all of it. */
  readonly isMeant?: (found: string) => boolean
}

// Each pattern begins at the border of a word and has bounded parts, so that the time grows with the text alone.
const MASKS: Readonly<Record<MaskName, Mask>> = {
  keys: { pattern: /[A-Za-z0-9_-]{16,}/g, isMeant: isLikeKey },
  emails: { pattern: /(?<![\w.%+-])[\w.%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63}){1,8}/g },
  cards: { pattern: /(?<![\w.])\d(?:[ -]?\d){12,18}(?!\w)/g, isMeant: isCard },
  phones: { pattern: /(?<![\w+])\+?\(?\d[\d ()./-]{6,20}\d(?!\w)/g, isMeant: isPhone },
  addresses: {
    pattern: /(?<![\w.:])(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]{1,4}(?::[0-9a-fA-F]{0,4}){3,7})(?![\w:])/g,
  },
}

const MARKS: Readonly<Record<MaskName, string>> = {
  keys: '[key]',
  emails: '[email]',
  cards: '[card]',
  phones: '[phone]',
  addresses: '[address]',
}

/** Letters and digits that alternate this often are not a word. */
const MIN_SWITCHES = 3

function isLikeKey(text: string): boolean {
  return (text.match(/[A-Za-z](?=\d)|\d(?=[A-Za-z])/g)?.length ?? 0) >= MIN_SWITCHES
}

/** https://en.wikipedia.org/wiki/Luhn_algorithm */
function isCard(text: string): boolean {
  const digits = text.replace(/\D/g, '')
  let sum = 0
  for (let at = 0; at < digits.length; at++) {
    const digit = Number(digits[digits.length - 1 - at])
    const doubled = at % 2 === 0 ? digit : digit * 2
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}

function isPhone(text: string): boolean {
  const { length } = text.replace(/\D/g, '')
  return length >= 8 && length <= 15 && /^\+|[ ()/-]/.test(text)
}

/** What replaces masked texts. */
export const MASK_MARKS: readonly string[] = [...Object.values(MARKS), '[word]']

/** Masks texts. */
export class Masker {
  readonly #masks: readonly TextRule[]
  readonly #isKept: (text: string) => boolean

  /** `isKept`: texts that have to stay as they are. */
  constructor(mask: readonly MaskName[], words: readonly string[], isKept: (text: string) => boolean = () => false) {
    this.#isKept = isKept
    const named = mask.map(name => ruleOf(MASKS[name], MARKS[name]))
    // The longest first: a word may be part of another one.
    const texts = words.toSorted((one, other) => other.length - one.length).map(escaped)
    const own = texts.length === 0 ? [] : [ruleOf({ pattern: new RegExp(texts.join('|'), 'gi') }, '[word]')]
    this.#masks = [...own, ...named]
  }

  /** A body: its texts if it is JSON, or if its lines are (`data: {…}`), also those that several of them share; else all of it. */
  body(text: string): string {
    const whole = documentOf(text)
    // A stream may be one list of documents.
    if (Array.isArray(whole)) return JSON.stringify(this.#documents(whole))
    if (whole !== undefined) return JSON.stringify(this.value(whole))
    const lines = text.split('\n').map(fieldOf)
    const masked = this.#documents(lines.map(({ rest }) => documentOf(rest)))
    return lines
      .map(({ head, rest }, at) => head + (masked[at] === undefined ? this.text(rest) : JSON.stringify(masked[at])))
      .join('\n')
  }

  /** Of a stream, in order: what is masked may begin in one of them and end in another. */
  #documents(documents: readonly (Json | undefined)[]): readonly (Json | undefined)[] {
    const pieces = new CutTexts()
    for (const [at, document] of documents.entries()) if (document !== undefined) pieces.add(at, document)
    const changes = pieces.changes(text => this.rules(text))
    return documents.map((document, at) => {
      const changed = changes.get(at)
      if (document === undefined) return undefined
      return this.value(changed === undefined ? document : withChanges(document, changed))
    })
  }

  /** The texts of a document, names included. */
  value(value: Json): Json {
    if (typeof value === 'string') return this.text(value)
    if (Array.isArray(value)) return value.map(item => this.value(item))
    if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value
    return Object.fromEntries(Object.entries(value).map(([name, inner]) => [this.text(name), this.value(inner)]))
  }

  text(text: string): string {
    return this.rules(text).reduce((masked, { pattern, by }) => masked.replace(pattern, found => by(found)), text)
  }

  /** What is masked of a text. */
  rules(text: string): readonly TextRule[] {
    return this.#isKept(text) ? [] : this.#masks
  }
}

/** A line of a body, or of an event stream. */
export interface Field {
  readonly line: string
  /** `data: `, where it has a name. */
  readonly head: string
  readonly rest: string
}

export function fieldOf(line: string): Field {
  const [, head = '', rest = ''] = /^(data: ?)?(.*)$/s.exec(line) ?? []
  return { line, head, rest }
}

/** Undefined if the text is not a list or an object. */
function documentOf(text: string): Json | undefined {
  if (!/^\s*[{[]/.test(text)) return undefined
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

function ruleOf({ pattern, isMeant }: Mask, mark: string): TextRule {
  return { pattern, by: found => (isMeant === undefined || isMeant(found) ? mark : found) }
}

/** As a part of a pattern. */
export function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
