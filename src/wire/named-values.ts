import { memberName } from '../core/members.js'
import { MemberKeys } from './member-keys.js'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_BRACKET = 0x5b
const BACKSLASH = 0x5c
const CLOSE_BRACKET = 0x5d
const OPEN_BRACE = 0x7b
const CLOSE_BRACE = 0x7d

/** Bits of a number that is no negative one. */
export const MAX_PATHS = 30
/** Bytes of a string that are looked at one by one before the rest is searched. */
const SHORT = 48
/** Most bytes that are kept of a string that goes over several pieces: a longer one is no name. */
const KEPT = 2048

/**
 * Finds the strings that stand at certain places of a JSON document (`session.model`), while it passes in pieces, cut
 * anywhere, and says whether each may. It only follows strings, brackets, colons and commas, so that it reads whatever
 * the most lenient of parsers reads; keys are compared as {@link memberName} folds them, and of a key that stands twice both
 * values count. Memory is bounded whatever the document is.
 */
export class NamedValues {
  readonly #paths: readonly (readonly string[])[]
  readonly #allowed: (value: string) => boolean
  /** By depth: the names that one of the paths may go on with there. */
  readonly #names: readonly MemberKeys[]
  /** Bits of the paths at which nothing may stand. */
  readonly #barred: number
  #stoppedAt: readonly string[] | undefined
  /** By path: how many of its names the open objects have matched. */
  readonly #matched: number[]
  #depth = 0
  /** Bits of the paths whose next name the last string was; once a colon has come, those whose value begins. */
  #candidate = 0
  #armed = 0
  #inString = false
  #escaped = false
  readonly #held = Buffer.alloc(KEPT)
  #heldLength = 0

  /**
   * At most {@link MAX_PATHS} paths, each of at least one name. `allowed` judges the value that stands at one of them;
   * at those that are `barred` nothing may stand at all.
   */
  constructor(
    named: readonly (readonly string[])[],
    allowed: (value: string) => boolean,
    barred: readonly (readonly string[])[] = [],
  ) {
    const paths = [...named, ...barred]
    this.#paths = paths.map(path => path.map(memberName))
    this.#barred = (2 ** paths.length - 1) & ~(2 ** named.length - 1)
    this.#allowed = allowed
    const deepest = Math.max(0, ...paths.map(path => path.length))
    this.#names = Array.from(
      { length: deepest },
      (_, depth) =>
        new MemberKeys(
          this.#paths
            .filter(path => path.length > depth)
            .map(path => ({ path: path.slice(depth, depth + 1), action: 'model' })),
        ),
    )
    this.#matched = paths.map(() => 0)
  }

  /** Another document begins. */
  begin(): void {
    this.#matched.fill(0)
    this.#depth = 0
    this.#candidate = 0
    this.#armed = 0
    this.#inString = false
    this.#escaped = false
    this.#heldLength = 0
  }

  /** Reads on; false where a value stands at one of the places and is not allowed. */
  push(bytes: Buffer, start: number, end: number): boolean {
    let at = start
    while (at < end) {
      if (this.#inString) {
        const close = this.closing(bytes, at, end)
        if (close === end) {
          this.hold(bytes, at, end)
          return true
        }
        this.#inString = false
        if (!this.ended(bytes, at, close)) return false
        at = close + 1
        continue
      }
      const byte = bytes[at++]
      switch (byte) {
        case QUOTE:
          this.#inString = true
          this.#heldLength = 0
          break
        case COLON:
          this.#armed = this.#candidate
          this.#candidate = 0
          if ((this.#armed & this.#barred) !== 0 && !this.passes(this.#armed & this.#barred)) return false
          break
        case COMMA:
          this.#armed = 0
          this.#candidate = 0
          break
        case OPEN_BRACE:
        case OPEN_BRACKET:
          this.open(byte === OPEN_BRACE)
          break
        case CLOSE_BRACE:
        case CLOSE_BRACKET:
          this.close()
          break
      }
    }
    return true
  }

  /** Where the quote stands that ends the string at hand, or `end`. */
  private closing(bytes: Buffer, from: number, end: number): number {
    let at = from
    if (this.#escaped) {
      this.#escaped = false
      at++
    }
    const near = Math.min(end, at + SHORT)
    while (at < near) {
      const byte = bytes[at]
      if (byte === QUOTE) return at
      at += byte === BACKSLASH ? 2 : 1
    }
    if (at < end) return this.farClosing(bytes.subarray(0, end), at)
    this.#escaped = at > end
    return end
  }

  private farClosing(bytes: Buffer, from: number): number {
    let at = from
    for (;;) {
      const quote = bytes.indexOf(QUOTE, at)
      const end = quote < 0 ? bytes.length : quote
      let slashes = 0
      while (end - slashes > at && bytes[end - slashes - 1] === BACKSLASH) slashes++
      const odd = slashes % 2 === 1
      if (quote < 0) {
        this.#escaped = odd
        return end
      }
      if (!odd) return quote
      at = quote + 1
    }
  }

  private hold(bytes: Buffer, start: number, end: number): void {
    // One more than fits tells that something is missing.
    if (this.#heldLength + end - start > KEPT) this.#heldLength = KEPT + 1
    else this.#heldLength += bytes.copy(this.#held, this.#heldLength, start, end)
  }

  /** A string has ended: a key, a value, or the value that is looked for. */
  private ended(bytes: Buffer, start: number, end: number): boolean {
    if (this.#armed !== 0) {
      const isWanted = this.isLeaf(this.#armed)
      this.#armed = 0
      return !isWanted || this.judge(bytes, start, end)
    }
    const names = this.#names[this.#depth - 1]
    // Most keys are told from the names at a glance, which those that came in pieces do not allow.
    const isOther = names === undefined || (this.#heldLength === 0 && !names.mayBe(bytes, start, end))
    this.#candidate = isOther ? 0 : this.candidates(bytes, start, end)
    return true
  }

  /** The path at which something stands where nothing may. */
  get stoppedAt(): readonly string[] | undefined {
    return this.#stoppedAt
  }

  private passes(barred: number): boolean {
    this.#stoppedAt = this.#paths.find(
      (path, index) => (barred & (1 << index)) !== 0 && this.#matched[index] === path.length - 1,
    )
    return this.#stoppedAt === undefined
  }

  private isLeaf(armed: number): boolean {
    return this.#paths.some((path, index) => (armed & (1 << index)) !== 0 && this.#matched[index] === path.length - 1)
  }

  private judge(bytes: Buffer, start: number, end: number): boolean {
    const value = this.text(bytes, start, end)
    return value !== undefined && this.#allowed(value)
  }

  private candidates(bytes: Buffer, start: number, end: number): number {
    let found = 0
    let key: string | undefined
    for (let index = 0; index < this.#paths.length; index++) {
      const matched = this.#matched[index] ?? 0
      if (this.#depth !== matched + 1) continue
      key ??= memberName(this.text(bytes, start, end) ?? '')
      if (this.#paths[index]?.[matched] === key) found |= 1 << index
    }
    return found
  }

  /** The string at hand, decoded; undefined where it is too long for a name, or no JSON string. */
  private text(bytes: Buffer, start: number, end: number): string | undefined {
    let raw: string
    if (this.#heldLength === 0) {
      if (end - start > KEPT) return undefined
      raw = bytes.toString('utf8', start, end)
    } else {
      this.hold(bytes, start, end)
      if (this.#heldLength > KEPT) return undefined
      raw = this.#held.toString('utf8', 0, this.#heldLength)
    }
    if (!raw.includes('\\')) return raw
    try {
      return String(JSON.parse(`"${raw}"`))
    } catch {
      return undefined
    }
  }

  private open(isObject: boolean): void {
    if (isObject && this.#armed !== 0) {
      for (let index = 0; index < this.#paths.length; index++) {
        const matched = this.#matched[index] ?? 0
        const more = matched + 1 < (this.#paths[index]?.length ?? 0)
        if ((this.#armed & (1 << index)) !== 0 && more) this.#matched[index] = matched + 1
      }
    }
    this.#depth++
    this.#armed = 0
    this.#candidate = 0
  }

  private close(): void {
    if (this.#depth > 0) this.#depth--
    for (let index = 0; index < this.#matched.length; index++) {
      const most = Math.max(0, this.#depth - 1)
      if ((this.#matched[index] ?? 0) > most) this.#matched[index] = most
    }
    this.#armed = 0
    this.#candidate = 0
  }
}
