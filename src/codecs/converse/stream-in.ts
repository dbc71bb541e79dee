import type { Frame, StreamDecoder } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { End, TextEvent } from '../../core/text.js'
import { MadeIds } from '../made-ids.js'
import { decodeCallId } from '../messages/names.js'
import { badUpstream, numberOf, objectOf, parseEvent, stringOf, truncated } from '../read.js'
import { unwrapSeal } from '../seal.js'
import { decodeCitation } from './citations.js'
import { PROTOCOL } from './media-in.js'
import { decodeEnd, decodeUsage, exceptionOf } from './result-in.js'
import { decodeRedacted } from './seals.js'
import { HeldBlock } from './stream-block.js'

const NOTHING: readonly TextEvent[] = []

/** Most blocks that are open at once; the protocol has one. */
const MAX_OPEN_BLOCKS = 1000

/** A block of the answer while it comes. `index` is that of its part. */
type OpenBlock =
  | { readonly kind: 'text'; readonly index: number }
  | { readonly kind: 'thought'; readonly index: number; signature: string }
  | { readonly kind: 'call'; readonly index: number; filled: boolean }
  | HeldBlock

/**
 * Reads the events of an answer: `messageStart`, blocks (`contentBlockStart`, which texts and thoughts do without,
 * `contentBlockDelta`, `contentBlockStop`), `messageStop` with the reason of the end, and `metadata` with the usage, which is
 * the last. An event whose name ends in `Exception` is a failure. Unknown events are passed over.
 */
export class ConverseDecoder implements StreamDecoder {
  #state: 'before' | 'begun' | 'ended' | 'over' = 'before'
  readonly #ids = new MadeIds('')
  /** Open blocks by the protocol's index. */
  readonly #open = new Map<number, OpenBlock>()
  /** Index of the next part. */
  #parts = 0

  push(frame: Frame): readonly TextEvent[] {
    if (this.#state === 'over') return NOTHING
    try {
      return this.#event(frame.event ?? '', parseEvent(frame.data))
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      this.#state = 'over'
      return [{ type: 'error', error }]
    }
  }

  end(): readonly TextEvent[] {
    if (this.#state === 'over') return NOTHING
    this.#state = 'over'
    return [{ type: 'error', error: truncated() }]
  }

  #event(name: string, event: JsonObject): readonly TextEvent[] {
    switch (name) {
      case 'contentBlockDelta':
        return this.#delta(indexOf(event), event.delta)
      case 'contentBlockStart':
        return this.#start(indexOf(event), objectOf(event.start) ?? {})
      case 'contentBlockStop':
        return this.#close(indexOf(event))
      case 'messageStart':
        return this.#state === 'before' ? [this.#begin()] : NOTHING
      case 'messageStop':
        return this.#endParts(decodeEnd(stringOf(event.stopReason)))
      case 'metadata':
        return this.#finish(event)
      default:
        if (name.endsWith('Exception')) throw exceptionOf(name, event)
        return NOTHING
    }
  }

  #begin(): TextEvent {
    this.#state = 'begun'
    return { type: 'start', id: '', model: '' }
  }

  /** What comes before a part of the block at this index, whose earlier one is closed. */
  #opening(at: number): TextEvent[] {
    const events: TextEvent[] = this.#state === 'before' ? [this.#begin()] : []
    for (const event of this.#close(at)) events.push(event)
    if (this.#open.size >= MAX_OPEN_BLOCKS) throw badUpstream('Too many blocks are open at once.')
    return events
  }

  #start(at: number, start: JsonObject): readonly TextEvent[] {
    if (this.#state === 'ended') return NOTHING
    const events = this.#opening(at)
    const call = objectOf(start.toolUse)
    if (call === undefined || stringOf(call.type) !== undefined) {
      const held = HeldBlock.of(start)
      if (held !== undefined) this.#open.set(at, held)
      return events
    }
    const given = decodeCallId(stringOf(call.toolUseId) ?? '')
    const id = given === '' ? this.#ids.of(0, this.#parts) : given
    const index = this.#parts++
    const part = { type: 'call', id, name: stringOf(call.name) ?? '', arguments: '' } as const
    events.push({ type: 'part-start', candidate: 0, index, part })
    this.#open.set(at, { kind: 'call', index, filled: false })
    return events
  }

  #delta(at: number, delta: Json | undefined): readonly TextEvent[] {
    if (!isObject(delta)) throw badUpstream('A delta has no content.')
    if (this.#state === 'ended') return NOTHING
    const open = this.#open.get(at)
    if (open instanceof HeldBlock) {
      open.grow(delta)
      return NOTHING
    }
    const { text, citation } = delta
    const thought = objectOf(delta.reasoningContent)
    const call = objectOf(delta.toolUse)
    if (typeof text === 'string') return this.#grown(at, 'text', text)
    if (thought !== undefined) return this.#thought(at, thought)
    if (call !== undefined) return this.#input(open, stringOf(call.input) ?? '')
    if (isObject(citation)) return this.#cited(at, citation)
    return NOTHING
  }

  /** Texts and thoughts begin with their first delta. */
  #grown(at: number, kind: 'text' | 'thought', text: string): readonly TextEvent[] {
    const open = this.#open.get(at)
    if (open !== undefined && open.kind === kind) {
      return text === '' ? NOTHING : [{ type: 'part-delta', candidate: 0, index: open.index, text }]
    }
    const events = this.#opening(at)
    const index = this.#parts++
    const part = { type: kind === 'text' ? 'text' : 'reasoning', text: '' } as const
    events.push({ type: 'part-start', candidate: 0, index, part })
    if (text !== '') events.push({ type: 'part-delta', candidate: 0, index, text })
    this.#open.set(at, kind === 'text' ? { kind, index } : { kind, index, signature: '' })
    return events
  }

  #thought(at: number, thought: JsonObject): readonly TextEvent[] {
    const { text, signature, redactedContent } = thought
    if (typeof redactedContent === 'string') {
      const events = this.#opening(at)
      const { seal, ...shape } = decodeRedacted(redactedContent)
      const index = this.#parts++
      const part = { type: 'reasoning', text: '', redacted: true, ...shape } as const
      events.push({ type: 'part-start', candidate: 0, index, part }, { type: 'part-end', candidate: 0, index, seal })
      return events
    }
    const events = this.#grown(at, 'thought', stringOf(text) ?? '')
    const open = this.#open.get(at)
    if (open?.kind === 'thought' && typeof signature === 'string') open.signature += signature
    return events
  }

  #input(open: OpenBlock | undefined, text: string): readonly TextEvent[] {
    if (open?.kind !== 'call') throw badUpstream('The input of a call arrived without the call.')
    if (text === '') return NOTHING
    open.filled = true
    return [{ type: 'part-delta', candidate: 0, index: open.index, text }]
  }

  #cited(at: number, citation: JsonObject): readonly TextEvent[] {
    const events = this.#grown(at, 'text', '')
    const open = this.#open.get(at)
    if (open?.kind !== 'text') return events
    return [...events, { type: 'part-citation', candidate: 0, index: open.index, citation: decodeCitation(citation) }]
  }

  #close(at: number): readonly TextEvent[] {
    const open = this.#open.get(at)
    if (open === undefined) return NOTHING
    this.#open.delete(at)
    if (open.kind === 'held') {
      const index = this.#parts++
      return [
        { type: 'part-start', candidate: 0, index, part: open.part() },
        { type: 'part-end', candidate: 0, index },
      ]
    }
    const { index } = open
    if (open.kind === 'thought' && open.signature !== '') {
      return [{ type: 'part-end', candidate: 0, index, seal: unwrapSeal(open.signature, PROTOCOL) }]
    }
    const end: TextEvent = { type: 'part-end', candidate: 0, index }
    const isBare = open.kind === 'call' && !open.filled
    return isBare ? [{ type: 'part-delta', candidate: 0, index, text: '{}' }, end] : [end]
  }

  #endParts(end: End): readonly TextEvent[] {
    if (this.#state === 'ended') return NOTHING
    const events: TextEvent[] = this.#state === 'before' ? [this.#begin()] : []
    for (const at of [...this.#open.keys()]) for (const event of this.#close(at)) events.push(event)
    this.#state = 'ended'
    events.push({ type: 'end', candidate: 0, end })
    return events
  }

  #finish(event: JsonObject): readonly TextEvent[] {
    const events = [...this.#endParts({ reason: 'other' })]
    this.#state = 'over'
    const usage = decodeUsage(objectOf(event.usage))
    const serviceTier = stringOf(objectOf(event.serviceTier)?.type)
    events.push({
      type: 'finish',
      ...(usage !== undefined && { usage }),
      ...(serviceTier !== undefined && { serviceTier }),
    })
    return events
  }
}

function indexOf(event: JsonObject): number {
  const index = numberOf(event.contentBlockIndex)
  if (index === undefined || !Number.isSafeInteger(index) || index < 0) throw badUpstream('An index is not valid.')
  return index
}
