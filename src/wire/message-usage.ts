import { isObject, parseJson } from '../core/json.js'
import type { Usage, UsagePaths } from '../core/plan.js'
import { readUsage, Tail, usageOf } from './usage.js'

/** How the messages of such protocols begin: their type stands first. */
const BEGIN = Buffer.from('{"type":"')
/** Most bytes of a message that is parsed; of a longer one the end is searched. */
const PARSED = 16 * 1024

/** `skip`: a message of another type. `sure`: one that counts, by its beginning. `held`: whoever parses it will know. */
type State = 'new' | 'skip' | 'sure' | 'held'

/**
 * Adds up the tokens that an upstream counted in some of its messages (`response.done`), while all of them pass in pieces,
 * cut anywhere. Of a message that may count the last 16 KiB are held, of others nothing.
 */
export class MessageUsage {
  readonly #types: readonly string[]
  readonly #ends: readonly Buffer[]
  readonly #paths: UsagePaths
  #state: State = 'new'
  #tail = new Tail()
  #length = 0
  #usage: { -readonly [field in keyof Usage]: Usage[field] } | undefined

  constructor(types: readonly string[], paths: UsagePaths) {
    this.#types = types
    this.#ends = types.map(type => Buffer.from(`${type}"`))
    this.#paths = paths
  }

  /** All that has been told so far. */
  get usage(): Usage | undefined {
    return this.#usage
  }

  /** Another message begins. */
  begin(): void {
    this.#state = 'new'
  }

  push(bytes: Buffer, start: number, end: number): void {
    if (this.#state === 'skip') return
    if (this.#state === 'new') {
      this.#state = this.judge(bytes, start, end)
      if (this.#state === 'skip') return
      this.#tail = new Tail()
      this.#length = 0
    }
    this.#length += end - start
    this.#tail.push(bytes.subarray(start, end))
  }

  /** The message is whole. */
  end(): void {
    if (this.#state !== 'sure' && this.#state !== 'held') return
    const bytes = this.#tail.bytes()
    this.#tail = new Tail()
    if (this.#length > PARSED) {
      if (this.#state === 'sure') this.add(readUsage(bytes, this.#paths, 'sse'))
      return
    }
    const message = parseJson(bytes.toString('utf8'))
    if (isObject(message) && this.#types.includes(String(message.type))) this.add(usageOf(message, this.#paths))
  }

  private judge(bytes: Buffer, start: number, end: number): State {
    if (!startsWith(bytes, start, end, BEGIN)) return 'held'
    let state: State = 'skip'
    for (const type of this.#ends) {
      if (start + BEGIN.length + type.length > end) state = 'held'
      else if (startsWith(bytes, start + BEGIN.length, end, type)) return 'sure'
    }
    return state
  }

  private add(told: Usage | undefined): void {
    if (told === undefined) return
    this.#usage ??= {}
    for (const [field, count] of Object.entries(told) as [keyof Usage, number][]) {
      this.#usage[field] = (this.#usage[field] ?? 0) + count
    }
  }
}

function startsWith(bytes: Buffer, start: number, end: number, wanted: Buffer): boolean {
  if (end - start < wanted.length) return false
  for (let index = 0; index < wanted.length; index++) if (bytes[start + index] !== wanted[index]) return false
  return true
}
