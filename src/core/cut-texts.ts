import { ExactNumber, isObject, type Json, type JsonObject } from './json.js'

/** What a text that is found is replaced with. */
export interface TextRule {
  /** Global. */
  readonly pattern: RegExp
  readonly by: (found: string, ...groups: readonly (string | undefined)[]) => string
}

/** Members whose texts may be pieces of a longer one, which continues in later events of the stream. */
const STREAMED_MEMBERS: ReadonlySet<string> = new Set([
  ...['content', 'text', 'delta', 'thinking', 'reasoning', 'reasoning_content', 'refusal', 'arguments', 'partial_json'],
  ...['transcript', 'input', 'response', 'token'],
])
const STREAMED_MEMBER = new RegExp(`"(?:${[...STREAMED_MEMBERS].join('|')})"`)
/** Members of an event that say to which text its pieces belong. */
const PLACES = ['type', 'item_id', 'output_index', 'content_index', 'summary_index', 'index'] as const

/** Whether JSON may have pieces: it need not be parsed otherwise. */
export function mayHavePieces(json: string): boolean {
  return STREAMED_MEMBER.test(json)
}

/**
 * Texts that come in pieces, as in the events of a stream: what is looked for may begin in one event and end in another. Holds the
 * pieces, and no event.
 */
export class CutTexts {
  readonly #places = new Map<string, { readonly pieces: string[]; readonly of: Piece[] }>()

  /** Notes the pieces of an event. Events have a number each. */
  add(event: number, document: Json): void {
    if (!isObject(document)) return
    let at = 0
    mapped(document, '', rootPlace(document), (place, piece) => {
      const { pieces, of } = this.#places.get(place) ?? { pieces: [], of: [] }
      if (pieces.length === 0) this.#places.set(place, { pieces, of })
      pieces.push(piece)
      of.push({ event, at: at++ })
      return piece
    })
  }

  /**
   * What changes where each whole text is treated, by event. `rules`: those for it. `inEach`: every piece of what is found gets what
   * is put in its place, and not the first one alone.
   */
  changes(rules: (whole: string) => readonly TextRule[], inEach = false): ReadonlyMap<number, Changes> {
    const changes = new Map<number, Map<number, string>>()
    for (const { pieces, of } of this.#places.values()) {
      const whole = pieces.join('')
      const treated = replacedAcross(pieces, rules(whole), inEach)
      for (const [nth, piece] of treated.entries()) {
        const { event, at } = of[nth] as Piece
        if (piece === pieces[nth]) continue
        const own = changes.get(event) ?? new Map<number, string>()
        changes.set(event, own.set(at, piece))
      }
    }
    return changes
  }
}

/** An event, and which of its pieces. */
interface Piece {
  readonly event: number
  readonly at: number
}

/** New pieces of an event, by their place among all of them. */
export type Changes = ReadonlyMap<number, string>

/** The event with its changed pieces. */
export function withChanges(document: Json, changes: Changes): Json {
  let at = 0
  return mapped(document, '', '', (_, piece) => changes.get(at++) ?? piece)
}

function rootPlace(document: JsonObject): string {
  return JSON.stringify(PLACES.map(name => (typeof document[name] === 'object' ? null : (document[name] ?? null))))
}

/** The document with each piece as `treat` returns it; it gets the place of the piece, and is called in a fixed order. */
function mapped(value: Json, name: string, place: string, treat: (place: string, piece: string) => string): Json {
  if (typeof value === 'string') return STREAMED_MEMBERS.has(name) ? treat(place, value) : value
  if (Array.isArray(value)) {
    return value.map(inner => mapped(inner, name, `${place}/${isObject(inner) ? (inner.index ?? '') : ''}`, treat))
  }
  if (!isObject(value) || value instanceof ExactNumber) return value
  return Object.fromEntries(
    Object.entries(value).map(([member, inner]) => [member, mapped(inner, member, `${place}.${member}`, treat)]),
  )
}

/**
 * The pieces of a text in which all that the rules find is replaced, also where it is spread over several: what is put in its place
 * comes where it begins. Time and memory grow with the text.
 * @testonly
 */
export function replacedAcross(
  pieces: readonly string[],
  rules: readonly TextRule[],
  inEach = false,
): readonly string[] {
  let whole = pieces.join('')
  let ends = endsOf(pieces)
  for (const { pattern, by } of rules) {
    let next = ''
    let [from, nth] = [0, 0]
    const nextEnds: number[] = []
    /** Pieces that end at `until` or before it: their ends move with the text between. */
    const pass = (until: number): void => {
      for (; nth < ends.length && (ends[nth] as number) <= until; nth++)
        nextEnds.push(next.length + (ends[nth] as number) - from)
      next += whole.slice(from, until)
      from = until
    }
    for (const match of whole.matchAll(pattern)) {
      const [found, ...groups] = match
      const mark = by(found, ...groups)
      if (mark === found) continue
      pass(match.index)
      next += mark
      from = match.index + found.length
      for (; nth < ends.length && (ends[nth] as number) < from; nth++) {
        nextEnds.push(next.length)
        if (inEach && (ends[nth + 1] ?? 0) > (ends[nth] as number)) next += mark
      }
    }
    pass(whole.length)
    whole = next
    ends = nextEnds
  }
  return ends.map((end, nth) => whole.slice(ends[nth - 1] ?? 0, end))
}

function endsOf(pieces: readonly string[]): number[] {
  let end = 0
  return pieces.map(piece => {
    end += piece.length
    return end
  })
}
