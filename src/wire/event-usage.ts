import { COLON, CR, LF, QUOTE, SPACE } from '../core/ascii.js'
import { parseJson } from '../core/json.js'
import type { Usage, UsagePaths } from '../core/plan.js'
import { asBuffer, startsAt } from './bytes.js'
import { decodeSse } from './sse.js'
import { TAIL_BYTES, type Tail } from './tail.js'
import { type Numbers, PassingUsage, type UsagePlaces, usageOf, usagePlaces } from './usage.js'

/** Max events with usage that are read from the end of a stream while some number is missing. */
const MAX_EVENTS = 8
const NULL = Buffer.from('null')
const BLANK_LINE = Buffer.from('\n\n')

/**
 * Reads usage from an event stream as its whole events pass: from the first event, from the last 16 KiB of events, and from
 * each event longer than half of that. For each number the last event that reports it counts.
 */
export class EventUsage {
  readonly #paths: UsagePaths
  readonly #places: UsagePlaces
  /** Usage from events that the tail may not hold. */
  #large: Numbers = []

  constructor(paths: UsagePaths) {
    this.#paths = paths
    this.#places = usagePlaces(paths)
  }

  /** Reads the data of an event longer than half of {@link TAIL_BYTES}. */
  large(data: Buffer): void {
    if (!this.#places.names.some(name => data.includes(name))) return
    const passing = new PassingUsage(this.#paths)
    passing.push(data)
    const numbers: Numbers = []
    passing.fill(numbers)
    for (const [index, count] of this.#large.entries()) numbers[index] ??= count
    this.#large = numbers
  }

  /** The usage so far. `tail`: the last events that passed. `first`: the lines of the first event. */
  usage(tail: Tail, first: Uint8Array | undefined): Usage | undefined {
    const numbers: Numbers = []
    this.fillFromEnd(numbers, tail)
    for (const [index, count] of this.#large.entries()) numbers[index] ??= count
    if (first !== undefined && !this.#places.isComplete(numbers)) {
      // The first event of most protocols has none.
      const mentions = mentionsOf(asBuffer(first), this.#places.names)
      if (mentions.length > 0) this.#places.fill(numbers, documentOf(first))
    }
    return this.#places.total(numbers)
  }

  private fillFromEnd(numbers: Numbers, tail: Tail): void {
    const bytes = tail.bytes()
    const mentions = mentionsOf(bytes, this.#places.names)
    const starts = new EventStarts(bytes)
    let end = bytes.length
    for (let filled = 0; filled < MAX_EVENTS && !this.#places.isComplete(numbers); ) {
      const found = mentions.pop()
      if (found === undefined) return
      if (found >= end) continue
      const start = starts.before(found)
      // The event's beginning is missing: the event was longer than the tail, or began long before the end.
      if (start === 0 && tail.isCut) return
      if (this.#places.fill(numbers, documentOf(bytes.subarray(start, end))) > 0) filled++
      end = start
    }
  }
}

/** Usage in the data of one event. */
export function usageOfEvent(data: Buffer, paths: UsagePaths): Usage | undefined {
  if (data.length <= TAIL_BYTES) return usageOf(parseJson(data.toString('utf8')), paths)
  const passing = new PassingUsage(paths)
  passing.push(data)
  return passing.usage()
}

/** The document of the first event in some lines. */
function documentOf(lines: Uint8Array): unknown {
  return parseJson(decodeSse(Buffer.concat([lines, BLANK_LINE]))[0]?.data ?? '')
}

/**
 * Offsets of the names, in ascending order, without those whose value is null: some servers have one in each event. The
 * search is for a name without its first quote, since quotes are frequent and it stops at each.
 */
function mentionsOf(bytes: Buffer, names: readonly Buffer[]): number[] {
  const mentions: number[] = []
  for (const name of names) {
    const bare = name.subarray(1)
    for (let at = bytes.indexOf(bare, 1); at >= 0; at = bytes.indexOf(bare, at + bare.length)) {
      if (bytes[at - 1] === QUOTE && !isNull(bytes, at + bare.length)) mentions.push(at - 1)
    }
  }
  return names.length === 1 ? mentions : mentions.sort((one, other) => one - other)
}

/** Whether the value of a key that ends at `end` is null. */
function isNull(bytes: Buffer, end: number): boolean {
  let at = end
  while (bytes[at] === SPACE || bytes[at] === COLON) at++
  return at > end && startsAt(bytes, at, NULL)
}

/** Searches backwards for a byte; looks at each one once. */
class LastBefore {
  readonly #bytes: Buffer
  readonly #wanted: number
  #found = Number.POSITIVE_INFINITY

  constructor(bytes: Buffer, wanted: number) {
    this.#bytes = bytes
    this.#wanted = wanted
  }

  /** The last occurrence before `end`; -1 if there is none. `end` must never grow between calls. */
  find(end: number): number {
    if (this.#found >= end) this.#found = end === 0 ? -1 : this.#bytes.lastIndexOf(this.#wanted, end - 1)
    return this.#found
  }
}

/** Finds the beginnings of events, going backwards. */
class EventStarts {
  readonly #bytes: Buffer
  readonly #lf: LastBefore
  readonly #cr: LastBefore

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#lf = new LastBefore(bytes, LF)
    this.#cr = new LastBefore(bytes, CR)
  }

  /** Start of the event that contains a byte: just after the preceding blank line. */
  before(at: number): number {
    const bytes = this.#bytes
    for (let line = at; ; ) {
      const end = Math.max(this.#lf.find(line), this.#cr.find(line))
      if (end < 0) return 0
      const before = bytes[end] === LF && bytes[end - 1] === CR ? end - 1 : end
      if (before === 0 || bytes[before - 1] === LF || bytes[before - 1] === CR) return end + 1
      line = before
    }
  }
}
