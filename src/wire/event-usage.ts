import { CR, LF } from '../core/ascii.js'
import { parseJson } from '../core/json.js'
import type { Usage, UsagePaths } from '../core/plan.js'
import { decodeSse } from './sse.js'
import { TAIL_BYTES, type Tail } from './tail.js'
import { type Numbers, PassingUsage, type UsagePlaces, usageOf, usagePlaces } from './usage.js'

/** Max events with usage that are read from the end of a stream while some number is missing. */
const MAX_EVENTS = 8
const BLANK_LINE = Buffer.from('\n\n')

/**
 * Reads usage from an event stream as its whole events pass: from the first event, from the last 16 KiB of events, and from
 * each event longer than that. For each number the last event that reports it counts.
 */
export class EventUsage {
  readonly #paths: UsagePaths
  readonly #places: UsagePlaces
  /** Usage from events longer than the tail. */
  #large: Numbers = []

  constructor(paths: UsagePaths) {
    this.#paths = paths
    this.#places = usagePlaces(paths)
  }

  /** Reads the data of an event longer than {@link TAIL_BYTES}. */
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
    if (first !== undefined && !this.#places.isComplete(numbers)) this.#places.fill(numbers, documentOf(first))
    return this.#places.total(numbers)
  }

  private fillFromEnd(numbers: Numbers, tail: Tail): void {
    const bytes = tail.bytes()
    const names = this.#places.names.map(name => new LastBefore(bytes, name))
    const starts = new EventStarts(bytes)
    let end = bytes.length
    for (let told = 0; told < MAX_EVENTS && !this.#places.isComplete(numbers); ) {
      let found = -1
      for (const name of names) found = Math.max(found, name.find(end))
      if (found < 0) return
      const start = starts.before(found)
      // The event's beginning is missing: the event was longer than the tail, or began long before the end.
      if (start === 0 && tail.isCut) return
      if (this.#places.fill(numbers, documentOf(bytes.subarray(start, end))) > 0) told++
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

/** Searches backwards for a text; looks at each byte once. */
class LastBefore {
  readonly #bytes: Buffer
  readonly #wanted: Uint8Array
  #found = Number.POSITIVE_INFINITY

  constructor(bytes: Buffer, wanted: Uint8Array) {
    this.#bytes = bytes
    this.#wanted = wanted
  }

  /** Start of the last occurrence that ends at or before `end`; -1 if there is none. `end` must never grow between calls. */
  find(end: number): number {
    const last = end - this.#wanted.length
    if (this.#found > last) this.#found = last < 0 ? -1 : this.#bytes.lastIndexOf(this.#wanted, last)
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
    this.#lf = new LastBefore(bytes, Buffer.of(LF))
    this.#cr = new LastBefore(bytes, Buffer.of(CR))
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
