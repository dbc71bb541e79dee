import { SPACE } from '../../core/ascii.js'
import { jsonText, parseExact } from '../../core/exact-json.js'
import { isObject, type JsonObject, parseJson } from '../../core/json.js'
import type { Item } from './items.js'

/**
 * The stored form of a conversation with an id: lines. The first is the head; each further line is an item: its id, a space,
 * and its JSON. A deleted item leaves an empty line, so that the others keep their places. This way an item is found,
 * added or deleted, and a page read, without parsing the rest.
 */
export interface ConversationHead {
  /** Milliseconds since the epoch. */
  readonly created: number
  readonly metadata: JsonObject
  /** Lines after the head, including those of deleted items. */
  readonly lines: number
  /** Number of present items, and bytes of their lines. */
  readonly items: number
  readonly bytes: number
  /** Number of first lines that a turn was given, or has added, with any model: clients have added what follows since. */
  readonly seen?: number
}

export interface ConversationRecord {
  readonly head: ConversationHead
  /** The lines after the head. */
  readonly lines: Buffer
}

/** An item's line, not parsed. */
interface ItemLine {
  readonly id: string
  readonly json: Buffer
}

const NEWLINE = 10

export function encodeConversation({ head, lines }: ConversationRecord): Buffer {
  return Buffer.concat([Buffer.from(`${jsonText(head)}\n`), lines])
}

/** Undefined if the bytes are not a conversation. */
export function decodeConversation(value: Uint8Array): ConversationRecord | undefined {
  const bytes = Buffer.from(value.buffer, value.byteOffset, value.length)
  const end = bytes.indexOf(NEWLINE)
  const head = end < 0 ? undefined : parseJson(bytes.toString('utf8', 0, end))
  return isObject(head) ? { head: head as unknown as ConversationHead, lines: bytes.subarray(end + 1) } : undefined
}

/** The conversation with further items; each one's id must be unique. */
export function withItems({ head, lines }: ConversationRecord, items: readonly Item[]): ConversationRecord {
  const added = Buffer.concat(items.map(item => Buffer.from(`${String(item.id)} ${jsonText(item)}\n`)))
  return {
    head: {
      ...head,
      lines: head.lines + items.length,
      items: head.items + items.length,
      bytes: head.bytes + added.length,
    },
    lines: Buffer.concat([lines, added]),
  }
}

/** The conversation without an item; undefined if it has no such item. */
export function withoutItem({ head, lines }: ConversationRecord, id: string): ConversationRecord | undefined {
  const place = placeOf(lines, id)
  if (place === undefined) return undefined
  const { start, end } = place
  return {
    head: { ...head, items: head.items - 1, bytes: head.bytes - (end + 1 - start) },
    lines: Buffer.concat([lines.subarray(0, start), lines.subarray(end)]),
  }
}

/** The item with that id. */
export function itemIn({ lines }: ConversationRecord, id: string): Item | undefined {
  const place = placeOf(lines, id)
  return place && parsedItem({ id, json: lines.subarray(place.start + id.length + 1, place.end) })
}

/** The items, oldest first; with `most`, only those of so many first lines, and with `first`, from that one on. */
export function itemLines(
  { lines }: ConversationRecord,
  most = Number.POSITIVE_INFINITY,
  first = 0,
): readonly ItemLine[] {
  const found: ItemLine[] = []
  for (let [at, line] = [0, 0]; at < lines.length && line < most; line++) {
    const end = lines.indexOf(NEWLINE, at)
    if (end > at && line >= first) {
      const space = lines.indexOf(SPACE, at)
      found.push({ id: lines.toString('latin1', at, space), json: lines.subarray(space + 1, end) })
    }
    at = end + 1
  }
  return found
}

export function hasItem({ lines }: ConversationRecord, id: string): boolean {
  return placeOf(lines, id) !== undefined
}

export function parsedItem({ json }: ItemLine): Item {
  return parseExact(json.toString('utf8')) as Item
}

/** Where an item's line begins and ends, without its line feed. */
function placeOf(lines: Buffer, id: string): { readonly start: number; readonly end: number } | undefined {
  const mark = Buffer.from(`${id} `)
  for (let start = lines.indexOf(mark); start >= 0; start = lines.indexOf(mark, start + 1)) {
    if (start === 0 || lines[start - 1] === NEWLINE) return { start, end: lines.indexOf(NEWLINE, start) }
  }
  return undefined
}
