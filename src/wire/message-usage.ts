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
  readonly #paths: UsagePaths
  #state: 'new' | 'skip' | 'read' = 'new'
  #type = new PlacedValues(TYPE)
  #message: PassingUsage
  #usage: Usage | undefined

  constructor(types: readonly string[], paths: UsagePaths) {
    this.#types = types
    this.#ends = types.map(type => Buffer.from(`${type}"`))
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
  }

  push(bytes: Buffer, start: number, end: number): void {
    if (this.#state === 'skip' || start === end) return
    if (this.#state === 'new') {
      this.#state = this.mayCount(bytes, start, end) ? 'read' : 'skip'
      if (this.#state === 'skip') return
      this.#type = new PlacedValues(TYPE)
      this.#message = new PassingUsage(this.#paths)
    }
    this.#type.push(bytes, start, end)
    this.#message.push(bytes, start, end)
  }

  /** Ends the message. */
  end(): void {
    if (this.#state !== 'read' || !this.#message.isWhole) return
    // Some protocols have no types.
    const type = this.#type.value(0)
    if (type !== undefined && this.#types.length > 0 && !this.#types.includes(String(type))) return
    const reported = this.#message.usage()
    if (reported !== undefined) this.#usage = sumOfUsage(this.#usage, reported)
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
