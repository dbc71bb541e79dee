import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { ReasoningPart, Seal } from '../../core/text.js'
import { parseObject, stringOf } from '../read.js'
import { unwrapSeal, wrapSeal } from '../seal.js'

/**
 * Thoughts in chat have no field of the protocol's own. Servers show them in one of these ways, and those that want them
 * back want them in the same. A seal by `chat` therefore says where they stood: the name of the member, or the entry of
 * `reasoning_details` without its text.
 */
export const PROTOCOL = 'chat'
const MEMBERS = ['reasoning_content', 'reasoning', 'thinking'] as const
export type ReasoningMember = (typeof MEMBERS)[number]

export const MEMBER_SEALS: Readonly<Record<ReasoningMember, Seal>> = {
  reasoning_content: { by: PROTOCOL, value: 'reasoning_content' },
  reasoning: { by: PROTOCOL, value: 'reasoning' },
  thinking: { by: PROTOCOL, value: 'thinking' },
}

export function memberOf(seal: Seal): ReasoningMember | undefined {
  return MEMBERS.find(member => member === seal.value)
}

/** The text of an entry of `reasoning_details`. */
export function textOfDetail(detail: JsonObject): string {
  return stringOf(detail.text) ?? stringOf(detail.summary) ?? ''
}

/** Members of an entry that have places of their own in a part, or say nothing where no other is beside them. */
const PLAIN = new Set(['type', 'text', 'summary', 'signature', 'data', 'id', 'redacted'])

/**
 * What an entry of `reasoning_details` (`{type, text | summary | data, signature?, id?, …}`) holds beside its text: a seal
 * that the gateway wrapped for another protocol, an upstream's own, or an entry that an upstream wants back whole.
 */
export function sealOfDetail(detail: JsonObject): Pick<ReasoningPart, 'seal' | 'id' | 'redacted' | 'summary'> {
  const id = stringOf(detail.id)
  const shape = {
    ...(detail.type === 'reasoning.summary' && { summary: true }),
    ...(detail.redacted === true && { redacted: true }),
    ...(id !== undefined && { id }),
  }
  const proof = withoutStretch(stringOf(detail.signature) || stringOf(detail.data))
  const seal = proof ? unwrapSeal(proof, PROTOCOL) : undefined
  const whole = Object.keys(detail).some(name => !PLAIN.has(name) && detail[name] !== null)
  if (!whole || (seal !== undefined && seal.by !== PROTOCOL)) return { ...shape, ...(seal !== undefined && { seal }) }
  const { text: _text, summary: _summary, ...rest } = detail
  return { ...shape, seal: { by: PROTOCOL, value: jsonText(rest) } }
}

/**
 * A stream says a thought in `reasoning_content` while it comes; the entry that seals it does not say it again, as clients
 * join what both members bring. Its signature ends with where in all that text the thought is, in characters.
 */
interface Stretch {
  readonly start: number
  readonly end: number
}

const STRETCH = /^(gw1\.[^.]*\.[^.]*)\.(\d{1,9})-(\d{1,9})$/

/** The entry of `reasoning_details` behind a thought that has been said, or is hidden. `index`: its number among them. */
export function sealingDetail(part: ReasoningPart, { start, end }: Stretch, index: number): JsonObject {
  const isHidden = start === end
  const { text: _text, summary: _summary, ...detail } = detailOf(part, isHidden ? '' : ' ')
  // What another server of this protocol made stays as it is.
  if (part.seal?.by === PROTOCOL) return detail
  return isHidden
    ? { ...detail, index }
    : { ...detail, signature: `${String(detail.signature)}.${start}-${end}`, index }
}

/** Where the text is that an entry seals; undefined where the entry does not say. */
function stretchOf(entry: JsonObject): Stretch | undefined {
  const [, , start, end] = STRETCH.exec(stringOf(entry.signature) ?? '') ?? []
  return end === undefined || textOfDetail(entry) !== '' ? undefined : { start: Number(start), end: Number(end) }
}

function withoutStretch(proof: string | undefined): string | undefined {
  return proof === undefined ? undefined : (STRETCH.exec(proof)?.[1] ?? proof)
}

/**
 * The thoughts of a message: its plain text, of which entries may seal stretches, and entries that hold texts of their own,
 * which then are all of it. `plain` seals what no entry does.
 */
export function thoughtsOfMessage(
  text: string,
  details: readonly Json[],
  plain: Partial<ReasoningPart>,
): ReasoningPart[] {
  const entries = mergeDetails(details.filter(isObject))
  if (entries.some(entry => textOfDetail(entry) !== '')) return partsOf(entries)
  const stretches = entries.map(stretchOf)
  const last = stretches.findLast(stretch => stretch !== undefined)
  if (last === undefined)
    return [...(text === '' ? [] : [{ type: 'reasoning' as const, text, ...plain }]), ...partsOf(entries)]
  // Some clients keep only the last piece of a member that they do not know.
  if (last.end > text.length) {
    return entries.flatMap((entry, i) =>
      partsOf([entry]).map(part => (stretches[i] === undefined ? part : { ...part, torn: true })),
    )
  }
  return cutThoughts(text, entries, stretches, plain)
}

function cutThoughts(
  text: string,
  entries: readonly JsonObject[],
  stretches: readonly (Stretch | undefined)[],
  plain: Partial<ReasoningPart>,
): ReasoningPart[] {
  const parts: ReasoningPart[] = []
  let at = 0
  const sayTo = (end: number): void => {
    // A blank line separates a thought from the next.
    const said = text.slice(at, end < text.length && text.startsWith('\n\n', end - 2) ? end - 2 : end)
    if (said !== '') parts.push({ type: 'reasoning', text: said, ...plain })
    at = end
  }
  for (const [i, entry] of entries.entries()) {
    const stretch = stretches[i]
    if (stretch !== undefined && stretch.start > at) sayTo(stretch.start)
    // What an earlier entry seals is said once.
    const isFree = stretch !== undefined && stretch.start >= at
    const said = isFree ? text.slice(stretch.start, stretch.end) : ''
    const isTorn = stretch !== undefined && !isFree
    parts.push({ type: 'reasoning', text: said, ...sealOfDetail(entry), ...(isTorn && { torn: true }) })
    at = Math.max(at, stretch?.end ?? 0)
  }
  sayTo(text.length)
  return parts
}

/** Entries that say nothing and seal nothing are left out. */
function partsOf(entries: readonly JsonObject[]): ReasoningPart[] {
  return entries.flatMap(detail => {
    const part: ReasoningPart = { type: 'reasoning', text: textOfDetail(detail), ...sealOfDetail(detail) }
    return part.text === '' && part.seal === undefined ? [] : [part]
  })
}

/** Neighbours of one text that came in pieces (a stream's) become one entry. */
function mergeDetails(details: readonly JsonObject[]): JsonObject[] {
  const merged: DetailInPieces[] = []
  for (const detail of details) {
    const last = merged.at(-1)
    if (last?.isContinuedBy(detail)) last.add(detail)
    else merged.push(new DetailInPieces(detail))
  }
  return merged.map(each => each.whole())
}

/** An entry and those that continue it: the text of all, and the latest word for everything else that they say. */
export class DetailInPieces {
  readonly #members: Map<string, Json>
  #text: string

  constructor(first: JsonObject) {
    this.#members = new Map(Object.entries(first))
    this.#text = textOfDetail(first)
  }

  /** Whether it continues where this stopped: text or summary with the same index, the seal not yet said. */
  isContinuedBy({ type, index }: JsonObject): boolean {
    const members = this.#members
    if (type !== members.get('type') || type === 'reasoning.encrypted') return false
    return (index ?? undefined) !== undefined && index === members.get('index') && !stringOf(members.get('signature'))
  }

  add(next: JsonObject): void {
    for (const [name, value] of Object.entries(next)) {
      if (value !== null && value !== '') this.#members.set(name, value)
    }
    this.#text += textOfDetail(next)
  }

  whole(): JsonObject {
    return { ...Object.fromEntries(this.#members), text: this.#text }
  }
}

/** Whether a seal is one: where a thought stood is not one to a client that reads thoughts in one place always. */
export function isProof(seal: Seal): boolean {
  return seal.by !== PROTOCOL || memberOf(seal) === undefined
}

/** A part as an entry of `reasoning_details`. Seals of other protocols are wrapped in it. */
export function detailOf(part: ReasoningPart, text = part.text): JsonObject {
  const { seal, id } = part
  const own = seal?.by === PROTOCOL ? parseObject(seal.value) : undefined
  if (own !== undefined) {
    const key = own.type === 'reasoning.summary' ? 'summary' : 'text'
    return text === '' && own.type === 'reasoning.encrypted' ? own : { ...own, [key]: text }
  }
  const proof = seal === undefined || !isProof(seal) ? undefined : wrapSeal(seal, PROTOCOL)
  const tail = { ...(id !== undefined && { id }), ...(part.redacted === true && { redacted: true }) }
  if (text === '' && proof !== undefined) return { type: 'reasoning.encrypted', data: proof, ...tail }
  const signed = { ...(proof !== undefined && { signature: proof }), ...tail }
  return part.summary === true
    ? { type: 'reasoning.summary', summary: text, ...signed }
    : { type: 'reasoning.text', text, ...signed }
}

/** The opaque member beside a call or a message (`{gateway: {seal}}` is ours, anything else an upstream's own). */
export function sealOfExtra(extra: Json | undefined): Seal | undefined {
  if (!isObject(extra)) return undefined
  const wrapped = isObject(extra.gateway) ? stringOf(extra.gateway.seal) : undefined
  if (wrapped !== undefined) return unwrapSeal(wrapped, PROTOCOL)
  return Object.keys(extra).length === 0 ? undefined : { by: PROTOCOL, value: jsonText(extra) }
}

export function extraOf(seal: Seal): JsonObject {
  const own = seal.by === PROTOCOL ? parseObject(seal.value) : undefined
  return own ?? { gateway: { seal: wrapSeal(seal, PROTOCOL) } }
}
