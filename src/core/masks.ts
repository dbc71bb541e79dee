import { CutTexts, type TextRule, withChanges } from './cut-texts.js'
import { ExactNumber, type Json } from './json.js'

/** What can be masked of texts. `keys`: what looks like a key. */
export type MaskName = 'emails' | 'cards' | 'phones' | 'addresses' | 'keys'

interface Mask {
  readonly pattern: RegExp
  /** Of what the pattern finds; absent: all of it. */
  readonly isMeant?: (found: string) => boolean
}

/** Of the scripts that put spaces between words: of others, a whole sentence would be taken for a name. */
const LETTERS = '\\p{sc=Latn}\\p{sc=Grek}\\p{sc=Cyrl}\\u0300-\\u036f'
/** Short prefixes of keys need a long part without a dash behind them: `sk-learn` and `pk_users` are words. */
const KEY_FORMS = [
  '(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])',
  '(?:AIza|eyJ|github_pat_)[\\w-]{13}',
  '(?:xox[a-z]|xapp)-[\\w-]{10}',
  '(?:sk|pk|rk|ek|gw|gh[pousr]|glpat|hf)[-_](?:[a-z]{1,12}\\d{0,2}[-_]){0,3}[A-Za-z0-9]{16}',
]
/** How a key begins. */
export const KEY_FORM = new RegExp(`(?<![A-Za-z0-9])(?:${KEY_FORMS.join('|')})`)
/** A long word may follow, too: "bearer responsibilities". */
const BEARER_KEY = /^bearer +(?=\S*(?:\d|[a-z]{20}))/i

/** In the groups that are printed on cards, and with the first digits of their networks. */
const PRINTED_CARD =
  /^(?:2[2-7]|[346]|5[0-8])(?:\d{11,18}|\d{2,3}(?:[ -]\d{4}){3}(?:[ -]\d{3})?|\d{2,3}[ -]\d{6}[ -]\d{4,5})$/
const MIN_CARD_DIGITS = 13

/** Finds numbers of cards, also among other digits: where it finds something else, it continues with the next group of digits. */
class CardPattern extends RegExp {
  constructor() {
    const card = String.raw`\d(?:[ -]?\d){12,18}|\d{4}(?:\.\d{4}){3}|\d{4}\.\d{6}\.\d{4,5}`
    super(String.raw`(?<!\w|\d\.)(?:${card})(?!\w)`, 'g')
  }

  override exec(text: string): RegExpExecArray | null {
    for (;;) {
      const match = super.exec(text)
      if (match === null) return null
      const isFirst = !/\d[ -]$/.test(text.slice(Math.max(0, match.index - 2), match.index))
      const card = cardAtStart(match[0], isFirst)
      if (card !== undefined) {
        match[0] = card
        this.lastIndex = match.index + card.length
        return match
      }
      this.lastIndex = match.index + match[0].search(/\D|$/)
    }
  }
}

/** The longest card that begins with the digits. `isFirst`: none are in front of them, so that all may be a card, in any groups. */
function cardAtStart(digits: string, isFirst: boolean): string | undefined {
  if (isFirst && isCard(digits)) return digits
  if (!/^\d{4}/.test(digits)) return undefined
  for (let card = digits; card.length >= MIN_CARD_DIGITS; card = withoutLastGroup(card))
    if (PRINTED_CARD.test(card) && isCard(card)) return card
  return undefined
}

function withoutLastGroup(digits: string): string {
  const end = Math.max(digits.lastIndexOf(' '), digits.lastIndexOf('-'), digits.lastIndexOf('.'))
  return digits.slice(0, Math.max(0, end))
}

// Each pattern begins at the border of a word and has bounded parts, so that the time grows with the text alone.
const MASKS: Readonly<Record<MaskName, Mask>> = {
  emails: {
    pattern: new RegExp(
      `(?<![${LETTERS}\\w.%+-])[${LETTERS}\\w.%+-]{1,64}@[${LETTERS}\\d-]{1,63}(?:\\.[${LETTERS}\\d-]{1,63}){1,8}`,
      'gu',
    ),
  },
  // Before numbers, which may be parts of them.
  keys: { pattern: /\bbearer {1,4}[\w.~+/=-]{16,4096}|[\w-]{16,}/gi, isMeant: isLikeKey },
  cards: { pattern: new CardPattern() },
  phones: { pattern: /(?<![\w+])\+?\(?\d[\d ()./-]{6,20}\d(?!\w)/g, isMeant: isPhone },
  addresses: {
    pattern:
      /(?<![\w.:])[\da-f]{0,4}(?::[\da-f]{0,4}){1,6}:\d{1,3}(?:\.\d{1,3}){3}(?!\w)|(?<![\w.:])[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}(?![\w:])|(?<![\w.])\d{1,3}(?:\.\d{1,3}){3}(?!\w)/gi,
    isMeant: isAddress,
  },
}

/** In the order in which they are masked. */
const NAMES = Object.keys(MASKS) as readonly MaskName[]

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
  if (KEY_FORM.test(text) || BEARER_KEY.test(text)) return true
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

/** Of version 4, or with at least three colons, or short: `std::min`, `[::2]` and times are not meant. */
function isAddress(text: string): boolean {
  if (text.includes('.') || text === '::1' || /^[^:]+(?::[^:]*){3}/.test(text)) return true
  return text.includes('::') && /\d/.test(text) && /[^:]{3}/.test(text)
}

const JSON_BEGIN = /^\s*[{[]/

/** Of JSON that was cut, so that no parser reads it, the characters that escapes stand for. */
function legible(text: string): string {
  return text.replace(/\\u([\da-f]{4})|\\([/"])/gi, (all: string, code?: string, own?: string) => {
    const char = own ?? String.fromCharCode(Number.parseInt(code ?? '', 16))
    return char < ' ' ? all : char
  })
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
    const named = NAMES.filter(name => mask.includes(name)).map(name => ruleOf(MASKS[name], MARKS[name]))
    // The longest first: a word may be part of another one. An empty one would be everywhere.
    const texts = words
      .filter(word => word !== '')
      .toSorted((one, other) => other.length - one.length)
      .map(escaped)
    const own = texts.length === 0 ? [] : [ruleOf({ pattern: new RegExp(texts.join('|'), 'gi') }, '[word]')]
    this.#masks = [...own, ...named]
  }

  /** A body: its texts if it is JSON, or if its lines are (`data: {…}`), also those that several of them share; else all of it. */
  body(text: string): string {
    const whole = documentOf(text)
    // A stream may be one list of documents.
    if (Array.isArray(whole)) return JSON.stringify(this.#documents(whole))
    if (whole !== undefined) return JSON.stringify(this.value(whole))
    // Each line of a document that was cut is one of it.
    const isJson = JSON_BEGIN.test(text)
    const lines = text.split('\n').map(fieldOf)
    const masked = this.#documents(lines.map(({ rest }) => documentOf(rest)))
    const shown = ({ head, rest }: Field, at: number): string => {
      if (masked[at] !== undefined) return head + JSON.stringify(masked[at])
      return head + this.text(isJson || JSON_BEGIN.test(rest) ? legible(rest) : rest)
    }
    return lines.map(shown).join('\n')
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
  if (!JSON_BEGIN.test(text)) return undefined
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
