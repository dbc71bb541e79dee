import * as g from './json-grammar.js'
import { type StringReader, skipDigits } from './json-runs.js'

/**
 * The one loop over the bytes of JSON text (RFC 8259): in one pass, without recursion, cut anywhere. It accepts exactly
 * what `JSON.parse` accepts after decoding. A subclass sees each token as an action of the grammar.
 *
 * Its methods are `protected` and not `#`: V8 in Node 20 does not inline calls of `#` methods, which would cost a third of
 * the time.
 */
export abstract class JsonReader {
  /** What may come next: a state of the grammar. */
  protected state: number
  protected depth = 0
  /** By depth: whether the open container is an object. */
  protected readonly objects: boolean[] = [false]
  /** Whether the string that is being read is a key. */
  protected isKey = false

  constructor(state: number) {
    this.state = state
  }

  /**
   * Reads from `from` up to `to`, or to the end of a string that begins before it, or until an action gives `DEAD`. Returns
   * where it stopped: just behind the byte of that action. `base` is the offset of the bytes in the document.
   */
  protected read(strings: StringReader, from: number, to: number, base: number): number {
    const { bytes } = strings
    const { length } = bytes
    let state = this.state
    let at = from
    while (at < to) {
      if (state >= g.RUNS) {
        at = state === g.STRING ? strings.skip(at) : skipDigits(bytes, at)
        if (at === length) break
      }
      const step = g.GRAMMAR[(state << 8) | (bytes[at] ?? 0)] ?? g.SYNTAX
      state = step < g.ACTIONS ? step : this.act(step, base + at)
      if (step < g.REREAD) at++
      if (state === g.DEAD) break
    }
    this.state = state
    return at
  }

  /** Runs the action for the byte at `at` and returns the next state. */
  protected act(action: number, _at: number): number {
    // Literal labels compile to a jump table, imported constants to a chain of comparisons: that would cost a third of a
    // small document's time.
    switch (action) {
      case 128 satisfies typeof g.BEGIN_SCALAR:
        return g.SCALAR
      case 70 satisfies typeof g.END_LITERAL:
      case 129 satisfies typeof g.END_NUMBER:
        return this.after()
      case 72 satisfies typeof g.NEXT_ELEMENT:
        return g.VALUE
      case 71 satisfies typeof g.NEXT_MEMBER:
        return g.MEMBER
      case 67 satisfies typeof g.BEGIN_KEY:
        this.isKey = true
        return g.STRING
      case 68 satisfies typeof g.BEGIN_STRING:
        return g.STRING
      case 69 satisfies typeof g.END_STRING:
        if (!this.isKey) return this.after()
        this.isKey = false
        return g.COLON
      case 64 satisfies typeof g.OPEN_OBJECT:
        this.objects[++this.depth] = true
        return g.FIRST_MEMBER
      case 65 satisfies typeof g.OPEN_ARRAY:
        this.objects[++this.depth] = false
        return g.FIRST_ELEMENT
      case 66 satisfies typeof g.CLOSE:
        this.depth--
        return this.after()
      default:
        return g.DEAD
    }
  }

  /** What may follow a value that has ended. */
  protected after(): number {
    if (this.depth === 0) return g.DONE
    return this.objects[this.depth] === true ? g.AFTER_MEMBER : g.AFTER_ELEMENT
  }
}
