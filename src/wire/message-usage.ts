import type { Usage, UsagePaths } from '../core/plan.js'
import { PlacedValues } from './placed-values.js'
import { PassingUsage, sumOfUsage } from './usage.js'

/** The first byte of an object, or white space before it. */
const BEGINS_JSON = new Set(Buffer.from('{ \t\r\n'))
/** How messages of such protocols begin: the type comes first. */
const BEGIN = Buffer.from('{"type":"')

/**
 * Adds up the tokens that an upstream reports in some of its messages (`response.done`) as they pass in chunks of any size.
 * It stores only a message's type and its usage, and stops reading messages of other types.
 */
export class MessageUsage {
  readonly #types: readonly string[]
  readonly #ends: readonly Buffer[]
  /** How the types of an answer's messages begin; empty if the first type does not say. */
  readonly #family: string
  readonly #begin: Buffer
  readonly #paths: UsagePaths
  #state: 'new' | 'skip' | 'read' = 'new'
  #type = new PlacedValues(TYPE)
  #message: PassingUsage
  #usage: Usage | undefined
  /** Of the current message. */
  #size = 0
  #isOfAnswer = false
  /** Messages of answers since the last report of one: of those types that begin as the first one does (`response.`). */
  readonly unreported = { bytes: 0, events: 0 }

  constructor(types: readonly string[], paths: UsagePaths) {
    this.#types = types
    this.#ends = types.map(type => Buffer.from(`${type}"`))
    const [first = ''] = types
    this.#family = first.slice(0, first.indexOf('.') + 1)
    this.#begin = Buffer.concat([BEGIN, Buffer.from(this.#family)])
    this.#paths = paths
    this.#message = new PassingUsage(paths)
  }

  /** The total so far. */
  get usage(): Usage | undefined {
    return this.#usage
  }

  /** Begins another message. */
  begin(): void {
    this.#state = 'new'
    this.#size = 0
    this.#isOfAnswer = false
  }

  push(bytes: Buffer, start: number, end: number): void {
    this.#size += end - start
    if (this.#state === 'skip' || start === end) return
    if (this.#state === 'new') {
      this.#state = this.mayCount(bytes, start, end) ? 'read' : 'skip'
      if (this.#state === 'skip') {
        this.#isOfAnswer = this.#family !== '' && startsWith(bytes, start, end, this.#begin)
        return
      }
      this.#type = new PlacedValues(TYPE)
      this.#message = new PassingUsage(this.#paths)
    }
    this.#type.push(bytes, start, end)
    this.#message.push(bytes, start, end)
  }

  /** Ends the message. */
  end(): void {
    // Some protocols have no types.
    const type = this.#state === 'read' ? this.#type.value(0) : undefined
    const isOfAnswer = this.#isOfAnswer || (this.#family !== '' && String(type ?? '').startsWith(this.#family))
    const reported = this.mayReport(type) ? this.#message.usage() : undefined
    if (reported !== undefined) this.#usage = sumOfUsage(this.#usage, reported)
    if (reported !== undefined && (isOfAnswer || type === undefined)) {
      this.unreported.bytes = this.unreported.events = 0
    } else if (isOfAnswer) {
      this.unreported.bytes += this.#size
      this.unreported.events++
    }
  }

  private mayReport(type: unknown): boolean {
    if (this.#state !== 'read' || !this.#message.isWhole) return false
    return type === undefined || this.#types.length === 0 || this.#types.includes(String(type))
  }

  /** Decides by the message's beginning. True also if the type comes later, or in another chunk. */
  private mayCount(bytes: Buffer, start: number, end: number): boolean {
    if (!BEGINS_JSON.has(bytes[start] ?? 0)) return false
    if (this.#types.length === 0 || !startsWith(bytes, start, end, BEGIN)) return true
    const type = start + BEGIN.length
    return this.#ends.some(name => type + name.length > end || startsWith(bytes, type, end, name))
  }
}

const TYPE = [['type']]

function startsWith(bytes: Buffer, start: number, end: number, wanted: Buffer): boolean {
  if (end - start < wanted.length) return false
  for (let index = 0; index < wanted.length; index++) if (bytes[start + index] !== wanted[index]) return false
  return true
}
