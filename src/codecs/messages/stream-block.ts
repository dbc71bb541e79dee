import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { HostedPart, Part, TextEvent } from '../../core/text.js'
import { badUpstream, numberOf, parseEvent, parseObject, stringOf } from '../read.js'
import { customInput } from './result-in.js'

/** A block's index; -2 stands for one that is left out. */
export function indexOf(event: JsonObject): number {
  if (event.index === undefined || event.index === null) return -2
  const index = numberOf(event.index)
  if (index === undefined || !Number.isSafeInteger(index) || index < 0) throw badUpstream('An index is not valid.')
  return index
}

/** The document of an event; undefined for the end mark of another protocol, which some upstreams add. */
export function eventOf(data: string): JsonObject | undefined {
  return data === '[DONE]' ? undefined : parseEvent(data)
}

/** Most characters of a block that has to be whole before it can be sent. */
const MAX_BLOCK_CHARS = 16 * 1024 * 1024

/** A block of an answer while it comes. `index` is that of its part. */
export type OpenBlock = OpenText | OpenThinking | OpenCall | HeldBlock

interface OpenText {
  readonly kind: 'text'
  readonly index: number
}

interface OpenThinking {
  readonly kind: 'thinking'
  readonly index: number
  signature: string
}

interface OpenCall {
  readonly kind: 'call'
  readonly index: number
  /** The input that the block began with; it counts where none comes after. */
  readonly input: JsonObject
  filled: boolean
}

/**
 * A block that is reported as a whole when it ends: the trace of a tool that runs at the upstream, or a call of a tool that
 * takes free text, which comes as JSON here.
 */
export class HeldBlock {
  readonly kind = 'held'
  readonly #part: Part
  readonly #block: Map<string, Json>
  readonly #json: string[] = []
  #size = 0

  constructor(part: Part, block: JsonObject) {
    this.#part = part
    this.#block = new Map(Object.entries(block))
  }

  /** Throws `bad_upstream_response` where it becomes too large. */
  grow(delta: JsonObject): void {
    if (delta.type === 'input_json_delta') {
      const json = stringOf(delta.partial_json) ?? ''
      this.#json.push(json)
      this.count(json.length)
      return
    }
    for (const [name, value] of Object.entries(delta)) {
      if (name === 'type') continue
      const before = this.#block.get(name)
      const joins = typeof before === 'string' && typeof value === 'string'
      if (typeof value === 'string') this.count(value.length)
      this.#block.set(name, joins ? before + value : value)
    }
  }

  part(): Part {
    const input = this.#json.length === 0 ? undefined : parseObject(this.#json.join(''))
    if (input !== undefined && Object.keys(input).length > 0) this.#block.set('input', input)
    const value: JsonObject = Object.fromEntries(this.#block)
    if (this.#part.type !== 'call') return { ...(this.#part as HostedPart), value }
    return { ...this.#part, arguments: customInput(isObject(value.input) ? value.input : {}) }
  }

  private count(size: number): void {
    this.#size += size
    if (this.#size > MAX_BLOCK_CHARS) throw badUpstream('A block is too large.')
  }
}

/** What a delta of this kind adds to its block. Throws `bad_upstream_response` where it does not fit. */
export function grown(
  block: OpenBlock,
  kind: 'text' | 'thinking' | 'call',
  text: Json | undefined,
): readonly TextEvent[] {
  if (block.kind !== kind) throw badUpstream('A delta does not match its block.')
  if (typeof text !== 'string') throw badUpstream('A delta has no text.')
  return text === '' ? [] : [{ type: 'part-delta', candidate: 0, index: block.index, text }]
}
