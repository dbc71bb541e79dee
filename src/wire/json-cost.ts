import { type Json, parseJson } from '../core/json.js'
import * as g from './json-grammar.js'
import { JsonReader } from './json-reader.js'
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
 * Counts the values of a JSON text and the heap they need as objects; stops once there are more than `most` values. In
 * invalid JSON it counts what a parser builds before the error. Yields every 512 KiB.
 */
export function* costOf(text: Buffer, most: number): Generator<void, JsonCost> {
  const counter = new Counter(text, most)
  while (!counter.step(STEP_BYTES)) yield
  return counter.cost()
}

class Counter extends JsonReader {
  readonly #strings: StringReader
  readonly #most: number
  #at = 0
  #values = 0
  #nodes = 0
  #deepest = 0

  constructor(text: Buffer, most: number) {
    super(g.VALUE)
    this.#strings = new StringReader(text)
    this.#most = most
  }

  /** Reads some bytes more; true at the end. */
  step(bytes: number): boolean {
    const { length } = this.#strings.bytes
    this.#at = this.read(this.#strings, this.#at, Math.min(length, this.#at + bytes), 0)
    return this.#at === length || this.state === g.DEAD
  }

  cost(): JsonCost {
    const heap = heapOf(this.#strings.bytes.length, this.#values, this.#nodes)
    return { values: this.#values, heap, depth: this.#deepest }
  }

  protected override act(action: number, at: number): number {
    switch (action) {
      case 64 satisfies typeof g.OPEN_OBJECT:
      case 65 satisfies typeof g.OPEN_ARRAY:
        this.#nodes++
        if (this.depth === this.#deepest) this.#deepest++
        return ++this.#values > this.#most ? g.DEAD : super.act(action, at)
      case 67 satisfies typeof g.BEGIN_KEY:
        this.#nodes++
        return super.act(action, at)
      case 68 satisfies typeof g.BEGIN_STRING:
        return ++this.#values > this.#most ? g.DEAD : g.STRING
      case 128 satisfies typeof g.BEGIN_SCALAR:
        return ++this.#values > this.#most ? g.DEAD : g.SCALAR
      case 129 satisfies typeof g.END_NUMBER:
        return this.after()
      case 72 satisfies typeof g.NEXT_ELEMENT:
        return g.VALUE
      default:
        return super.act(action, at)
    }
  }
}

/** The same without yielding, for texts of a few MiB at most. */
export function costNow(text: Buffer, most: number): JsonCost {
  const counting = costOf(text, most)
  for (;;) {
    const step = counting.next()
    if (step.done === true) return step.value
  }
}

/** Parses a text of a few MiB; undefined if it is not JSON or has more than `values` values. */
export function parseWithin(text: Buffer, values: number): Json | undefined {
  if (mayExceed(text.length, values) && costNow(text, values).values > values) return undefined
  return parseJson(text.toString('utf8'))
}
