import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../core/ascii.js'
import { StringReader } from './json-runs.js'

// Heap that V8 (Node 20 to 24) needs for a parsed document, measured on dense ones: an empty list takes 56 bytes, an empty
// object 60, an object whose only member has a unique name 200, a number 8 to 16, a short string 24 and more.

/** Heap bytes per value; per object, list and member; per byte of text, since a string may take two bytes per character. */
const HEAP_PER_VALUE_BYTES = 16
const HEAP_PER_NODE_BYTES = 96
const HEAP_PER_TEXT_BYTE = 2
/** Heap bytes per byte of text for the densest documents, lists in lists. */
const MAX_HEAP_PER_TEXT_BYTE = 28

/** Bytes counted per turn of the event loop. */
const STEP_BYTES = 512 * 1024

const STRING = 1
const CONTAINER = 2
const MEMBER = 3
const SCALAR = 4
const CLOSE = 5

/** What a byte begins, outside strings. */
const BEGINS = new Uint8Array(256)
for (const byte of Buffer.from('-0123456789tfn')) BEGINS[byte] = SCALAR
BEGINS[QUOTE] = STRING
BEGINS[OPEN_BRACKET] = BEGINS[OPEN_BRACE] = CONTAINER
BEGINS[CLOSE_BRACKET] = BEGINS[CLOSE_BRACE] = CLOSE
BEGINS[COLON] = MEMBER

/** Bytes that may continue a number or a literal. */
const GOES_ON = new Uint8Array(256)
for (const byte of Buffer.from('+-.0123456789eEtrufalsn')) GOES_ON[byte] = 1

/** Upper bound, in heap bytes, of a document as objects. `nodes`: its objects, lists and members. */
export function heapOf(bytes: number, values: number, nodes: number): number {
  return (
    HEAP_PER_TEXT_BYTE * bytes +
    Math.min(HEAP_PER_VALUE_BYTES * values + HEAP_PER_NODE_BYTES * nodes, MAX_HEAP_PER_TEXT_BYTE * bytes)
  )
}

/** The same if only the size is known. */
export function mostHeapOf(bytes: number): number {
  return (HEAP_PER_TEXT_BYTE + MAX_HEAP_PER_TEXT_BYTE) * bytes
}

/** Whether a text of this size may have more values. Each value takes at least two bytes, separator included. */
export function mayExceed(bytes: number, values: number): boolean {
  return bytes > 2 * values
}

export interface JsonCost {
  /** Slightly over the limit if there are more. */
  readonly values: number
  /** Heap bytes, see {@link heapOf}. */
  readonly heap: number
  /** Max nesting depth. */
  readonly depth: number
}

/**
 * Counts the values of a JSON text and the heap they need as objects; stops once there are more than `most` values. It does
 * not validate: for invalid JSON the counts are meaningless, and parsing reports the error. Yields every 512 KiB.
 */
export function* costOf(text: Buffer, most: number): Generator<void, JsonCost> {
  const strings = new StringReader(text)
  const { length } = text
  let values = 0
  let nodes = 0
  let turn = STEP_BYTES
  let inString = false
  let level = 0
  let depth = 0
  for (let at = 0; at < length && values <= most; ) {
    if (inString) {
      at = strings.skip(at)
      // Skip two bytes: neither the backslash nor the escaped character (`u` included) ends the string.
      inString = text[at] === BACKSLASH
      at += inString ? 2 : 1
    } else
      switch (BEGINS[text[at] ?? 0]) {
        case STRING:
          values++
          inString = true
          at++
          break
        case CONTAINER:
          values++
          nodes++
          if (++level > depth) depth = level
          at++
          break
        case CLOSE:
          level--
          at++
          break
        case MEMBER:
          // The key was counted as a value.
          values--
          nodes++
          at++
          break
        case SCALAR:
          values++
          at++
          while (at < length && GOES_ON[text[at] ?? 0] === 1) at++
          break
        default:
          at++
      }
    if (at < turn) continue
    turn = at + STEP_BYTES
    yield
  }
  return { values, heap: heapOf(length, values, nodes), depth }
}

/** The same without yielding, for texts of a few MiB at most. */
export function costNow(text: Buffer, most: number): JsonCost {
  const counting = costOf(text, most)
  for (;;) {
    const step = counting.next()
    if (step.done === true) return step.value
  }
}
