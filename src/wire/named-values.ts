import { CLOSE_BRACE, CLOSE_BRACKET, COLON, COMMA, OPEN_BRACE, OPEN_BRACKET, QUOTE } from '../core/ascii.js'
import { memberName } from '../core/members.js'
import { JsonOutline } from './json-outline.js'
import { MemberKeys } from './member-keys.js'

/** Max paths: one bit each of a non-negative 31-bit number. */
export const MAX_PATHS = 30
/** Max bytes kept of a string that spans chunks: a longer one cannot be a name. */
const MAX_KEPT_BYTES = 2048

/** An open container that may contain one of the paths' values. */
interface Level {
  isObject: boolean
  /** Bits of the paths that lead here. */
  paths: number
  /** How many of their names have matched. */
  names: number
  /** Nesting depth of open lists in this one, which count as part of it. */
  inner: number
}

/**
 * Finds the strings at certain paths of a JSON document (`session.model`) as it passes in chunks of any size, and checks
 * whether each is allowed. Lists at any level are looked through: each element counts as the value in the list's position.
 * Keys are compared as {@link memberName} folds them, and both values of a duplicate key count. Memory is bounded for every
 * document.
 */
export class NamedValues extends JsonOutline {
  readonly #paths: readonly (readonly string[])[]
  readonly #allowed: (value: string) => boolean
  /** By number of matched names: the next names of the paths. */
  readonly #names: readonly MemberKeys[]
  /** Bits of all paths, and of the paths that must have no value. */
  readonly #all: number
  readonly #barred: number
  #stoppedAt: readonly string[] | undefined
  /** The open containers that matter: at most one more than twice the number of names in the longest path. */
  readonly #levels: readonly Level[]
  #depth = 0
  /**
   * Bits of the paths whose next name the last string was; bits of those whose value may begin here, and their names so
   * far.
   */
  #candidate = 0
  #armed = 0
  #armedNames = 0
  readonly #kept = Buffer.alloc(MAX_KEPT_BYTES)
  #keptLength = 0

  /**
   * At most {@link MAX_PATHS} paths, each with at least one name. `allowed` checks the value at a path; `barred` paths must
   * have no value at all.
   */
  constructor(
    named: readonly (readonly string[])[],
    allowed: (value: string) => boolean,
    barred: readonly (readonly string[])[] = [],
  ) {
    super()
    const paths = [...named, ...barred]
    this.#paths = paths.map(path => path.map(memberName))
    this.#all = 2 ** paths.length - 1
    this.#barred = this.#all & ~(2 ** named.length - 1)
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
    this.#levels = Array.from({ length: 2 * deepest + 2 }, () => ({ isObject: false, paths: 0, names: 0, inner: 0 }))
  }

  /** Begins another document. */
  begin(): void {
    this.#depth = 0
    this.restart()
    this.#candidate = 0
    this.#armed = 0
    this.#keptLength = 0
  }

  /** Reads a chunk; false if a value at one of the paths is not allowed. */
  push(bytes: Buffer, start: number, end: number): boolean {
    this.walk(end === bytes.length ? bytes : bytes.subarray(0, end), start)
    return !this.stopped
  }

  protected mark(byte: number): void {
    switch (byte) {
      case QUOTE:
        this.#keptLength = 0
        break
      case COLON:
        this.colon()
        break
      case COMMA:
        this.next()
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

  protected holdString(bytes: Buffer, from: number): void {
    this.hold(bytes, from, bytes.length)
  }

  private hold(bytes: Buffer, start: number, end: number): void {
    // One byte over the limit shows that the string was cut.
    if (this.#keptLength + end - start > MAX_KEPT_BYTES) this.#keptLength = MAX_KEPT_BYTES + 1
    else this.#keptLength += bytes.copy(this.#kept, this.#keptLength, start, end)
  }

  /** A string has ended: a key, a value, or a value to check. */
  protected endString(bytes: Buffer, start: number, end: number): void {
    if (this.#armed !== 0) {
      const isWanted = this.leaves(this.#armed, this.#armedNames) !== 0
      this.#armed = 0
      if (isWanted && !this.judge(bytes, start, end)) this.stopped = true
      return
    }
    const level = this.#levels[this.#depth - 1]
    const names = level?.isObject === true ? this.#names[level.names] : undefined
    // Most keys are ruled out by a quick check, which needs the whole key in one chunk.
    const isOther = names === undefined || (this.#keptLength === 0 && !names.mayBe(bytes, start, end))
    this.#candidate = isOther || level === undefined ? 0 : this.candidates(level, bytes, start, end)
  }

  /** The barred path that has a value. */
  get stoppedAt(): readonly string[] | undefined {
    return this.#stoppedAt
  }

  /** The last string was a key. */
  private colon(): void {
    if (this.#candidate === 0) return
    this.#armed = this.#candidate
    this.#armedNames = (this.#levels[this.#depth - 1]?.names ?? 0) + 1
    this.#candidate = 0
    const barred = this.leaves(this.#armed & this.#barred, this.#armedNames)
    if (barred === 0) return
    this.stopped = true
    this.#stoppedAt = this.#paths.find((_, index) => (barred & (1 << index)) !== 0)
  }

  /** Another member or element begins. */
  private next(): void {
    const level = this.#levels[this.#depth - 1]
    const inList = level?.isObject === false
    this.#armed = inList ? level.paths : 0
    this.#armedNames = inList ? level.names : 0
    this.#candidate = 0
  }

  /** Those of the given paths that have no more names. */
  private leaves(paths: number, names: number): number {
    let found = 0
    for (let index = 0; paths >>> index !== 0; index++) {
      if ((paths & (1 << index)) !== 0 && this.#paths[index]?.length === names) found |= 1 << index
    }
    return found
  }

  private judge(bytes: Buffer, start: number, end: number): boolean {
    const value = this.text(bytes, start, end)
    return value !== undefined && this.#allowed(value)
  }

  /** The paths through an object that continue with this key. */
  private candidates({ paths, names }: Level, bytes: Buffer, start: number, end: number): number {
    let found = 0
    let key: string | undefined
    for (let index = 0; paths >>> index !== 0; index++) {
      if ((paths & (1 << index)) === 0) continue
      key ??= memberName(this.text(bytes, start, end) ?? '')
      if (this.#paths[index]?.[names] === key) found |= 1 << index
    }
    return found
  }

  /** The current string, decoded; undefined if it is too long for a name, or not a JSON string. */
  private text(bytes: Buffer, start: number, end: number): string | undefined {
    let raw: string
    if (this.#keptLength === 0) {
      if (end - start > MAX_KEPT_BYTES) return undefined
      raw = bytes.toString('utf8', start, end)
    } else {
      this.hold(bytes, start, end)
      if (this.#keptLength > MAX_KEPT_BYTES) return undefined
      raw = this.#kept.toString('utf8', 0, this.#keptLength)
    }
    if (!raw.includes('\\')) return raw
    try {
      return String(JSON.parse(`"${raw}"`))
    } catch {
      return undefined
    }
  }

  private open(isObject: boolean): void {
    const around = this.#levels[this.#depth - 1]
    if (around === undefined) {
      this.#armed = this.#all
      this.#armedNames = 0
    }
    // An object is not a value of a path: the search continues with its members.
    const paths = isObject ? this.#armed & ~this.leaves(this.#armed, this.#armedNames) : this.#armed
    const level = this.#levels[this.#depth]
    if (paths !== 0 && !isObject && around?.isObject === false) around.inner++
    else if (paths === 0 || level === undefined) this.skipped = 1
    else {
      level.isObject = isObject
      level.paths = paths
      level.names = this.#armedNames
      level.inner = 0
      this.#depth++
    }
    if (isObject || this.skipped > 0) this.#armed = 0
    this.#candidate = 0
  }

  private close(): void {
    const level = this.#levels[this.#depth - 1]
    if (level !== undefined && level.inner > 0) level.inner--
    else if (level !== undefined) this.#depth--
    this.leave()
  }

  protected leave(): void {
    this.#armed = 0
    this.#candidate = 0
  }
}
