import { BACKSLASH, CLOSE_BRACE, CLOSE_BRACKET, COLON, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../core/ascii.js'
import { StringReader } from './json-runs.js'

// What V8 (Node 20 to 24) keeps of a parsed document, measured over dense ones: an empty list takes 56 bytes, an empty
// object 60, one whose only member has a name of its own 200, a number 8 to 16, a short string 24 and more.

/** Bytes of heap for each value; for each object, list and member; for each byte of text, since a string may take two. */
const HEAP_PER_VALUE_BYTES = 16
const HEAP_PER_NODE_BYTES = 96
const HEAP_PER_TEXT_BYTE = 2
/** The densest documents, lists in lists, take so much for each byte. */
const MAX_HEAP_PER_TEXT_BYTE = 28

/** Bytes that are counted in one turn of the event loop. */
const STEP_BYTES = 512 * 1024

const STRING = 1
const CONTAINER = 2
const MEMBER = 3
const SCALAR = 4
const CLOSE = 5

/** What begins with a byte, outside of strings. */
const BEGINS = new Uint8Array(256)
for (const byte of Buffer.from('-0123456789tfn')) BEGINS[byte] = SCALAR
BEGINS[QUOTE] = STRING
BEGINS[OPEN_BRACKET] = BEGINS[OPEN_BRACE] = CONTAINER
BEGINS[CLOSE_BRACKET] = BEGINS[CLOSE_BRACE] = CLOSE
BEGINS[COLON] = MEMBER

/** Bytes that may go on with a number or a word. */
const GOES_ON = new Uint8Array(256)
for (const byte of Buffer.from('+-.0123456789eEtrufalsn')) GOES_ON[byte] = 1

/** Most bytes of heap that a document takes as objects. `nodes`: its objects, lists and members. */
export function heapOf(bytes: number, values: number, nodes: number): number {
  return (
    HEAP_PER_TEXT_BYTE * bytes +
    Math.min(HEAP_PER_VALUE_BYTES * values + HEAP_PER_NODE_BYTES * nodes, MAX_HEAP_PER_TEXT_BYTE * bytes)
  )
}

/** The same where nothing is known but the size. */
export function mostHeapOf(bytes: number): number {
  return (HEAP_PER_TEXT_BYTE + MAX_HEAP_PER_TEXT_BYTE) * bytes
}

/** Whether a text of so many bytes may have more values: each takes two bytes at least, with what parts it from the next. */
export function mayExceed(bytes: number, values: number): boolean {
  return bytes > 2 * values
}

export interface JsonCost {
  /** A few over the limit where there are more than that. */
  readonly values: number
  /** Bytes of heap, see {@link heapOf}. */
  readonly heap: number
  /** The deepest level of nesting. */
  readonly depth: number
}

/**
 * Counts the values of a JSON text and what they take as objects; stops past `most` values. It checks nothing: of what is
 * not JSON the counts mean nothing, and parsing it tells. Yields every 512 KiB.
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
      // An escape of `u`, or none: neither of its first two bytes ends the string.
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
          // The key has been taken for a value.
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

/** The same at once, for texts of some MiB at most. */
export function costNow(text: Buffer, most: number): JsonCost {
  const counting = costOf(text, most)
  for (;;) {
    const step = counting.next()
    if (step.done === true) return step.value
  }
}
