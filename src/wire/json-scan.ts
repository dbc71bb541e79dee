import { BACKSLASH, OPEN_BRACE, OPEN_BRACKET } from '../core/ascii.js'
import { asBuffer, isAt } from './bytes.js'
import { Chunks } from './chunks.js'
import { type ControlKey, type ControlNames, controlNames } from './control-names.js'
import { beginsLikeLink } from './input-of-bytes.js'
import { heapOf } from './json-cost.js'
import * as g from './json-grammar.js'
import { JsonReader } from './json-reader.js'
import { StringReader } from './json-runs.js'
import { MAX_TOKEN_BYTES, Skeleton } from './json-skeleton.js'
import type { MemberKeys } from './member-keys.js'
import type { NotedNames } from './noted-names.js'

/** Longer control values are not decoded. */
const MAX_CONTROL_VALUE_BYTES = 64 * 1024
const NOTHING = Buffer.alloc(0)

export interface ScanOptions {
  /** Top-level names that decide what happens: each may occur once, and in no other case or spelling. */
  readonly control: readonly string[]
  /** Max nesting; the top-level object is level 1. */
  readonly depth: number
  /** Max members of one object. */
  readonly members: number
  /** Max values of the whole document; absent: no limit. */
  readonly values?: number
  /** Keys to watch for at any depth. */
  readonly watched?: WatchedKeys
  /** Members that rules refer to. */
  readonly ruled?: MemberKeys
  /** Members whose places are asked for. */
  readonly noted?: NotedNames
}

/** Keys that JSON writes without escapes. */
export interface WatchedKeys {
  readonly bare: readonly Buffer[]
  readonly quoted: readonly string[]
}

/**
 * A control value and its absolute byte offsets. `undefined` stands for objects, arrays, and values over 64 KiB, which no
 * valid control value exceeds.
 */
interface Found {
  readonly value: string | number | boolean | null | undefined
  readonly start: number
  readonly end: number
}

/** The first problem, at an absolute byte offset; `name` is the control name at fault. */
interface ScanProblem {
  readonly rule: 'syntax' | 'duplicate' | 'variant' | 'depth' | 'members' | 'values' | 'not-object'
  readonly at: number
  readonly name?: string
}

/** The value of a top-level member, by its absolute byte offsets. */
export interface MemberSpan {
  readonly name: string
  readonly start: number
  readonly end: number
}

/**
 * Checks a JSON object as it arrives, in chunks of any size. It accepts exactly the objects that `JSON.parse` accepts after
 * decoding (invalid UTF-8 becomes U+FFFD), apart from its own limits. It decodes only control names and values.
 */
export class JsonScanner extends JsonReader {
  readonly #options: ScanOptions
  readonly #control: ControlNames
  readonly #chunks = new Chunks()
  readonly #skeleton = new Skeleton()
  readonly #found: MemberSpan[] = []
  /** Of several with one name the last counts, as for `JSON.parse`. */
  #noted: MemberSpan[] | undefined
  /** By depth: members of the open container so far. */
  readonly #counts: number[] = [0]
  readonly #mostValues: number
  #values = 0
  /** Objects, lists and members. */
  #nodes = 0
  #problem: ScanProblem | undefined
  /** Start of the current string, number or literal. */
  #token = 0
  #seen = false
  #mayLink = false
  #ruled = false
  /** Whether rules refer to something inside the current top-level member. */
  #isInside = false
  /** Start of the value of a top-level member, if it is an object or array. */
  #opened = 0
  /** The control name whose key has been read, until its value has been read. */
  #wanted: string | undefined
  /** The same for a noted name. */
  #noting: string | undefined
  /** The current chunk and its offset. */
  #piece: Buffer = NOTHING
  #base = 0

  constructor(options: ScanOptions) {
    super(g.START)
    this.#options = options
    this.#control = controlNames(options.control)
    this.#mostValues = options.values ?? Number.POSITIVE_INFINITY
  }

  /** Reads a chunk. Does nothing once there is a problem. */
  push(chunk: Uint8Array): void {
    if (this.#problem !== undefined || chunk.length === 0) return
    const bytes = asBuffer(chunk)
    const base = this.#chunks.length
    this.#chunks.append(bytes)
    this.#piece = bytes
    this.#base = base
    this.read(new StringReader(bytes), 0, bytes.length, base)
  }

  /** Whether a watched key has occurred, or one with escapes that may be one. */
  get seen(): boolean {
    return this.#seen
  }

  /** Whether a string may have occurred, the name of a member or a value, that begins like a link. */
  get mayLink(): boolean {
    return this.#mayLink
  }

  /** Whether a member that rules refer to may have occurred. */
  get ruled(): boolean {
    return this.#ruled
  }

  /** Whether there is a problem; later chunks are ignored. */
  get failed(): boolean {
    return this.#problem !== undefined
  }

  /** Upper bound of the document's heap size as objects, in bytes. */
  get heap(): number {
    return heapOf(this.#chunks.length, this.#values, this.#nodes)
  }

  /** Ends the document. Returns the first problem, or `undefined` if there is none. */
  end(): ScanProblem | undefined {
    if (this.#problem === undefined && this.state !== g.DONE) this.fail('syntax', this.#chunks.length)
    return this.#problem
  }

  /** The top-level control value of this name, available as soon as it has been read. */
  found(name: string): Found | undefined {
    const span = this.span(name)
    if (span === undefined) return undefined
    const { start, end } = span
    return {
      value: end - start > MAX_CONTROL_VALUE_BYTES ? undefined : parse(this.#chunks.slice(start, end)),
      start,
      end,
    }
  }

  /** Those of the noted members that the document has. */
  get noted(): readonly MemberSpan[] {
    return this.#noted ?? []
  }

  /**
   * The document as JSON text of at most about 1 MiB, for schema checks, after an `end()` without problems. Strings and
   * numbers over 1 KiB are shortened; past 512 KiB every array keeps at most 16 more elements, past 768 KiB nested objects
   * lose their tails, past 1 MiB the document does.
   */
  skeleton(): string {
    return this.#skeleton.render(this.#chunks)
  }

  protected override act(action: number, at: number): number {
    switch (action) {
      case 128 satisfies typeof g.BEGIN_SCALAR:
        this.#token = at
        return g.SCALAR
      case 129 satisfies typeof g.END_NUMBER:
        if (at - this.#token > MAX_TOKEN_BYTES) this.#skeleton.shorten(this.#token, at)
        return this.endValue(this.#token, at)
      case 72 satisfies typeof g.NEXT_ELEMENT:
        if (at >= this.#skeleton.full) this.#skeleton.comma(at, this.depth, this.count())
        return g.VALUE
      case 68 satisfies typeof g.BEGIN_STRING:
        this.#token = at
        this.noteLink(at + 1)
        return g.STRING
      case 67 satisfies typeof g.BEGIN_KEY:
        return this.beginKey(at)
      case 69 satisfies typeof g.END_STRING:
        if (at - this.#token > MAX_TOKEN_BYTES + 1) this.#skeleton.shorten(this.#token, at)
        return this.isKey ? this.endKey(at) : this.endValue(this.#token, at + 1)
      case 71 satisfies typeof g.NEXT_MEMBER:
        if (at >= this.#skeleton.full) this.#skeleton.comma(at, this.depth, 0)
        return g.MEMBER
      case 64 satisfies typeof g.OPEN_OBJECT:
        return this.open(true, at)
      case 65 satisfies typeof g.OPEN_ARRAY:
        return this.open(false, at)
      case 66 satisfies typeof g.CLOSE:
        return this.close(at)
      case 70 satisfies typeof g.END_LITERAL:
        return this.endValue(this.#token, at + 1)
      case 74 satisfies typeof g.NOT_OBJECT:
        return this.fail('not-object', at)
      default:
        return this.fail('syntax', at)
    }
  }

  private open(object: boolean, at: number): number {
    if (this.depth === 1) this.#opened = at
    if (this.depth === this.#options.depth) return this.fail('depth', at)
    this.#nodes++
    const depth = ++this.depth
    this.objects[depth] = object
    this.#counts[depth] = 0
    return object ? g.FIRST_MEMBER : g.FIRST_ELEMENT
  }

  private close(at: number): number {
    this.#skeleton.close(at, this.depth)
    this.depth--
    return this.endValue(this.#opened, at + 1)
  }

  private beginKey(at: number): number {
    if (this.count() > this.#options.members) return this.fail('members', at)
    this.#nodes++
    this.#token = at
    this.noteLink(at + 1)
    this.isKey = true
    return g.STRING
  }

  /** The characters of a string begin. */
  private noteLink(at: number): void {
    if (!this.#mayLink) this.#mayLink = beginsLikeLink(this.#piece, at - this.#base)
  }

  private endKey(at: number): number {
    this.isKey = false
    const { watched, ruled, noted } = this.#options
    const isWatched = watched !== undefined && !this.#seen
    const isTop = this.depth === 1
    if (!isTop && !isWatched && (!this.#isInside || this.#ruled)) return g.COLON
    const start = this.#token + 1
    // A key mostly is in one chunk.
    const isHere = start >= this.#base
    const bytes = isHere ? this.#piece : this.#chunks.slice(start, at)
    const from = isHere ? start - this.#base : 0
    const to = from + at - start
    if (isWatched) this.#seen = mayBeOneOf(watched.bare, bytes, from, to)
    if (!isTop) {
      if (this.#isInside && !this.#ruled) this.#ruled = ruled?.below(bytes, from, to) === true
      return g.COLON
    }
    if (ruled !== undefined && !this.#ruled) {
      const top = ruled.top(bytes, from, to)
      this.#isInside = top === 'inside'
      this.#ruled = top === 'all'
    }
    if (noted !== undefined) this.#noting = noted.find(bytes, from, to)
    const key = this.#control.mayHave(to - from) ? this.#control.find(bytes, from, to) : undefined
    return key === undefined ? g.COLON : this.endControlKey(key)
  }

  private endControlKey({ name, exact }: ControlKey): number {
    if (!exact) return this.fail('variant', this.#token, name)
    if (this.span(name) !== undefined) return this.fail('duplicate', this.#token, name)
    this.#wanted = name
    return g.COLON
  }

  private span(name: string): MemberSpan | undefined {
    for (const found of this.#found) if (found.name === name) return found
    return undefined
  }

  /** Counts one more member, or one more element of an array past the skeleton's `full`. */
  private count(): number {
    const count = (this.#counts[this.depth] ?? 0) + 1
    this.#counts[this.depth] = count
    return count
  }

  /** A value has ended; returns the state that follows. */
  private endValue(start: number, end: number): number {
    if (++this.#values > this.#mostValues) return this.fail('values', end)
    if (this.#wanted !== undefined && this.depth === 1) {
      this.#found.push({ name: this.#wanted, start, end })
      this.#wanted = undefined
    }
    if (this.#noting !== undefined && this.depth === 1) {
      const name = this.#noting
      this.#noted = [...(this.#noted?.filter(known => known.name !== name) ?? []), { name, start, end }]
      this.#noting = undefined
    }
    return this.after()
  }

  private fail(rule: ScanProblem['rule'], at: number, name?: string): number {
    this.#problem = name === undefined ? { rule, at } : { rule, at, name }
    return g.DEAD
  }
}

/** Whether a key is one of these, or has escapes. A function for each key would cost more than the comparison. */
function mayBeOneOf(keys: readonly Buffer[], bytes: Buffer, start: number, end: number): boolean {
  for (const key of keys) if (isAt(bytes, start, end, key)) return true
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return true
  return false
}

function parse(json: Buffer): Found['value'] {
  if (json[0] === OPEN_BRACE || json[0] === OPEN_BRACKET) return undefined
  const value: unknown = JSON.parse(json.toString('utf8'))
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
}
