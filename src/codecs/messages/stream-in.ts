import type { Frame, StreamDecoder } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { jsonText } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { End, Seal, TextEvent } from '../../core/text.js'
import { MadeIds } from '../made-ids.js'
import { badUpstream, latest, objectOf, stringOf, truncated } from '../read.js'
import { unwrapSeal } from '../seal.js'
import { decodeCitation, decodeCitations } from './citations.js'
import { decodeBlock, decodeEnd, errorOf } from './result-in.js'

import { eventOf, grown, HeldBlock, indexOf, type OpenBlock } from './stream-block.js'

import { decodeUsage, decodeUsedTier, USAGE_MEMBERS } from './usage.js'

const NOTHING: readonly TextEvent[] = []
const PING: readonly TextEvent[] = [{ type: 'ping' }]

/** Most blocks that are open at once; the protocol has one. */
const MAX_OPEN_BLOCKS = 1000

/**
 * Reads the events of a message: `message_start`, blocks (`content_block_start`, `_delta`, `_stop`), `message_delta` with
 * the reason of the end and cumulative usage, `message_stop`. Events go by the `type` in their data. Unknown ones, pings
 * and padding are passed over; a stream without `message_stop` broke off.
 */
export class MessagesDecoder implements StreamDecoder {
  #state: 'before' | 'begun' | 'ended' | 'over' = 'before'
  #id = ''
  #ids = new MadeIds('')
  #usage: JsonObject = {}
  /** Open blocks by the protocol's index; `#last` is the one that was used last, at `#lastAt`. */
  readonly #open = new Map<number, OpenBlock>()
  #last: OpenBlock | undefined
  #lastAt = -1
  /** Index of the next part. */
  #parts = 0

  push(frame: Frame): readonly TextEvent[] {
    if (this.#state === 'over') return NOTHING
    try {
      return this.event(eventOf(frame.data))
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

  private event(event: JsonObject | undefined): readonly TextEvent[] {
    switch (event?.type) {
      case 'content_block_delta':
        return this.delta(event)
      case 'content_block_start':
        return this.blockStart(event)
      case 'content_block_stop':
        return this.close(indexOf(event))
      case 'ping':
        return PING
      case 'message_start':
        return this.messageStart(objectOf(event.message) ?? {})
      case 'message_delta':
        return this.messageDelta(event)
      case 'message_stop':
        return this.messageStop()
      default:
        if (event !== undefined && (event.type === 'error' || isObject(event.error))) throw errorOf(event)
        return NOTHING
    }
  }

  private messageStart(message: JsonObject): readonly TextEvent[] {
    const id = stringOf(message.id) ?? ''
    if (this.#state !== 'before') {
      // Some upstreams say it twice. One that begins anew after it has answered cannot be followed.
      if (id === this.#id || this.#parts === 0) return NOTHING
      throw badUpstream('It began another answer before the first had ended.')
    }
    return [this.begin(id, stringOf(message.model) ?? '', objectOf(message.usage))]
  }

  private begin(id: string, model: string, counts: JsonObject | undefined): TextEvent {
    this.#state = 'begun'
    this.#id = id
    this.#ids = new MadeIds(id)
    if (counts !== undefined) this.#usage = counts
    const usage = decodeUsage(counts)
    return { type: 'start', id, model, ...(usage !== undefined && { usage }) }
  }

  private blockStart(event: JsonObject): readonly TextEvent[] {
    const block = objectOf(event.content_block)
    if (block === undefined) throw badUpstream('A block has no content.')
    return this.open(indexOf(event), block)
  }

  private open(at: number, block: JsonObject): readonly TextEvent[] {
    if (this.#state === 'ended') return NOTHING
    const events: TextEvent[] = this.#state === 'before' ? [this.begin('', '', undefined)] : []
    for (const event of this.close(at)) events.push(event)
    if (this.#open.size >= MAX_OPEN_BLOCKS) throw badUpstream('Too many blocks are open at once.')
    const opened = this.opened(block, events)
    if (opened === undefined) return events
    this.#open.set(at, opened)
    this.#last = opened
    this.#lastAt = at
    return events
  }

  private opened(block: JsonObject, events: TextEvent[]): OpenBlock | undefined {
    const place = { candidate: 0, index: this.#parts } as const
    if (block.type === 'text') {
      events.push({ type: 'part-start', ...place, part: { type: 'text', text: '' } })
      this.firstText(block.text, events)
      for (const citation of decodeCitations(block.citations))
        events.push({ type: 'part-citation', ...place, citation })
      return { kind: 'text', index: this.#parts++ }
    }
    if (block.type === 'thinking') {
      events.push({ type: 'part-start', ...place, part: { type: 'reasoning', text: '' } })
      this.firstText(block.thinking, events)
      return { kind: 'thinking', index: this.#parts++, signature: stringOf(block.signature) ?? '' }
    }
    const part = decodeBlock(block, this.#ids.of(0, this.#parts))
    if (part?.type === 'reasoning') {
      const { seal, ...bare } = part
      events.push({ type: 'part-start', ...place, part: bare }, { type: 'part-end', ...place, ...(seal && { seal }) })
      this.#parts++
      return undefined
    }
    if (part?.type !== 'call' || part.custom === true) return part === undefined ? part : new HeldBlock(part, block)
    events.push({ type: 'part-start', ...place, part: { ...part, arguments: '' } })
    return { kind: 'call', index: this.#parts++, input: objectOf(block.input) ?? {}, filled: false }
  }

  /** What a block began with. */
  private firstText(text: Json | undefined, events: TextEvent[]): void {
    if (typeof text !== 'string' || text === '') return
    events.push({ type: 'part-delta', candidate: 0, index: this.#parts, text })
  }

  private delta(event: JsonObject): readonly TextEvent[] {
    const { delta } = event
    if (!isObject(delta)) throw badUpstream('A delta has no content.')
    if (this.#state === 'ended') return NOTHING
    const at = indexOf(event)
    const block = at === this.#lastAt ? this.#last : this.#open.get(at)
    if (block === undefined) return this.unopened(at, delta)
    if (block.kind === 'held') {
      block.grow(delta)
      return NOTHING
    }
    switch (delta.type) {
      case 'text_delta':
        return grown(block, 'text', delta.text)
      case 'thinking_delta':
        return grown(block, 'thinking', delta.thinking)
      case 'input_json_delta':
        if (block.kind === 'call' && delta.partial_json !== '') block.filled = true
        return grown(block, 'call', delta.partial_json)
      case 'signature_delta':
        if (block.kind === 'thinking') block.signature = stringOf(delta.signature) ?? block.signature
        return NOTHING
      case 'citations_delta': {
        if (block.kind !== 'text' || !isObject(delta.citation)) return NOTHING
        const citation = decodeCitation(delta.citation)
        return [{ type: 'part-citation', candidate: 0, index: block.index, citation }]
      }
      default:
        return NOTHING
    }
  }

  /** Some upstreams do not say where text begins. */
  private unopened(at: number, delta: JsonObject): readonly TextEvent[] {
    if (delta.type === 'input_json_delta') throw badUpstream('The input of a call arrived without the call.')
    if (delta.type === 'text_delta') return this.open(at, { type: 'text', text: delta.text ?? '' })
    if (delta.type === 'thinking_delta') return this.open(at, { type: 'thinking', thinking: delta.thinking ?? '' })
    return NOTHING
  }

  private close(at: number): readonly TextEvent[] {
    const block = this.#open.get(at)
    if (block === undefined) return NOTHING
    this.#open.delete(at)
    if (this.#lastAt === at) {
      this.#last = undefined
      this.#lastAt = -1
    }
    switch (block.kind) {
      case 'text':
        return [{ type: 'part-end', candidate: 0, index: block.index }]
      case 'thinking': {
        const seal: Seal | undefined = block.signature === '' ? undefined : unwrapSeal(block.signature, 'messages')
        return [{ type: 'part-end', candidate: 0, index: block.index, ...(seal !== undefined && { seal }) }]
      }
      case 'call': {
        const end: TextEvent = { type: 'part-end', candidate: 0, index: block.index }
        if (block.filled) return [end]
        const text = jsonText(block.input)
        return [{ type: 'part-delta', candidate: 0, index: block.index, text }, end]
      }
      case 'held': {
        const place = { candidate: 0, index: this.#parts++ } as const
        return [
          { type: 'part-start', ...place, part: block.part() },
          { type: 'part-end', ...place },
        ]
      }
    }
  }

  private messageDelta(event: JsonObject): readonly TextEvent[] {
    const usage = objectOf(event.usage)
    // Counts are cumulative; missing ones keep their value.
    if (usage !== undefined) this.#usage = latest(USAGE_MEMBERS, this.#usage, usage)
    const delta = objectOf(event.delta) ?? {}
    const word = stringOf(delta.stop_reason)
    return word === undefined ? NOTHING : this.finishParts(decodeEnd(word, delta))
  }

  private finishParts(end: End): readonly TextEvent[] {
    if (this.#state === 'ended') return NOTHING
    const events: TextEvent[] = this.#state === 'before' ? [this.begin('', '', undefined)] : []
    for (const at of [...this.#open.keys()]) for (const event of this.close(at)) events.push(event)
    this.#state = 'ended'
    events.push({ type: 'end', candidate: 0, end })
    return events
  }

  private messageStop(): readonly TextEvent[] {
    const events = [...this.finishParts({ reason: 'other' })]
    this.#state = 'over'
    const usage = decodeUsage(this.#usage)
    const tier = decodeUsedTier(stringOf(this.#usage.service_tier))
    events.push({
      type: 'finish',
      ...(usage !== undefined && { usage }),
      ...(tier !== undefined && { serviceTier: tier }),
    })
    return events
  }
}
