import type { Container, Item } from './json-cursor.js'

/** Bytes that replace those from `start` to `end`. */
export interface Edit {
  readonly start: number
  readonly end: number
  readonly bytes: Uint8Array
}

const NOTHING = Buffer.alloc(0)

/** A copy of the document with edits that do not overlap. */
export function apply(doc: Buffer, edits: readonly Edit[]): Buffer {
  return Buffer.concat(edited(doc, edits))
}

/** The same in chunks; those of the document are views. */
export function edited(doc: Buffer, edits: readonly Edit[]): readonly Uint8Array[] {
  const pieces: Uint8Array[] = []
  let from = 0
  for (const { start, end, bytes } of edits.toSorted((one, other) => one.start - other.start || one.end - other.end)) {
    pieces.push(doc.subarray(from, start), bytes)
    from = end
  }
  pieces.push(doc.subarray(from))
  return pieces
}

/** Removes items, each with one comma: the one after it or, past the last kept item, the one before it. */
export function removals({ items }: Container, removed: ReadonlySet<Item>): readonly Edit[] {
  if (removed.size === 0) return []
  const lastKept = items.findLastIndex(item => !removed.has(item))
  return items.flatMap((item, index) => {
    if (!removed.has(item)) return []
    const before = items[index - 1]
    const behind = items[index + 1]
    if (index < lastKept && behind !== undefined) return { start: item.keyStart, end: behind.keyStart, bytes: NOTHING }
    return { start: before?.end ?? item.keyStart, end: item.end, bytes: NOTHING }
  })
}
