import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Citation, Part, Seal, TextEvent, TokenLogprob } from '../../core/text.js'
import type { MadeIds } from '../made-ids.js'
import { badUpstream, objectOf, stringOf } from '../read.js'
import { thoughtsOf } from './content-in.js'
import { CallTable, OpenCall, SpokenAudio } from './open-call.js'
import {
  DetailInPieces,
  MEMBER_SEALS,
  type ReasoningMember,
  sealOfDetail,
  sealOfExtra,
  textOfDetail,
} from './reasoning.js'
import { audioPart, readAnnotations, readArguments, readEnd, readImages } from './result-in.js'

/** Most parts of one choice, calls among them. */
const MAX_PARTS = 10_000

type Kind = 'none' | 'text' | 'reasoning' | 'refusal' | 'calls'

/** One choice of a stream: which of its parts are open, and where the next piece goes. */
export class ChoiceDecoder {
  ended = false
  readonly #number: number
  readonly #ids: MadeIds
  #parts = 0
  /** What came last, and the index of the part that it goes to; calls have indices of their own. */
  #kind: Kind = 'none'
  #open = -1
  readonly #calls = new CallTable()
  #refused = false
  /** The thought at hand: its length, and where it is or its entry of `reasoning_details` so far. */
  #length = 0
  #member: ReasoningMember = 'reasoning_content'
  #detail: DetailInPieces | undefined
  /** What belongs to a text that has not begun, or to the one that is open. */
  #citations: Citation[] = []
  #seal: Seal | undefined
  #cited = false
  #audio: SpokenAudio | undefined

  constructor(number: number, ids: MadeIds) {
    this.#number = number
    this.#ids = ids
  }

  read(delta: JsonObject, logprobs: readonly TokenLogprob[] | undefined, events: TextEvent[]): void {
    this.readReasoning(delta, events)
    const { content, refusal } = delta
    if (typeof content === 'string') {
      if (content !== '') this.text(content, logprobs, events)
    } else if (Array.isArray(content)) this.readParts(content, logprobs, events)
    if (typeof refusal === 'string' && refusal !== '') this.refuse(refusal, events)
    if (delta.annotations) this.cite(readAnnotations(delta.annotations), events)
    if (delta.images) for (const image of readImages(delta.images)) this.whole(image, events)
    if (isObject(delta.audio)) {
      this.#audio ??= new SpokenAudio()
      this.#audio.push(delta.audio)
    }
    const { tool_calls: calls } = delta
    if (delta.extra_content) this.#seal = sealOfExtra(delta.extra_content) ?? this.#seal
    if (Array.isArray(calls)) for (const piece of calls) this.readCall(piece, events)
    if (isObject(delta.function_call)) this.readCall({ index: -1, function: delta.function_call }, events)
  }

  /** The choice is complete; what servers send for it afterwards may say nothing more. */
  finish(reason: string, stopped: Json | undefined, sources: readonly Citation[], events: TextEvent[]): void {
    if (this.ended) return
    if (!this.#cited && sources.length > 0) this.cite(sources, events)
    // Citations and proofs without a text belong to an empty one.
    if (this.#kind !== 'text' && (this.#seal !== undefined || this.#citations.length > 0)) this.startText(events)
    this.close(events)
    if (this.#audio !== undefined) {
      const { id, data, transcript } = this.#audio.whole()
      for (const part of audioPart(id, data, transcript)) this.whole(part, events)
    }
    for (const call of this.#calls.all) this.endCall(call, events)
    this.ended = true
    const holds = { calls: this.#calls.all.length > 0, refusal: this.#refused }
    events.push({ type: 'end', candidate: this.#number, end: readEnd(reason, holds, stopped) })
  }

  private text(text: string, logprobs: readonly TokenLogprob[] | undefined, events: TextEvent[]): void {
    if (this.#kind !== 'text') this.startText(events)
    const candidate = this.#number
    const index = this.#open
    events.push(
      logprobs === undefined
        ? { type: 'part-delta', candidate, index, text }
        : { type: 'part-delta', candidate, index, text, logprobs },
    )
  }

  private startText(events: TextEvent[]): void {
    this.open('text', { type: 'text', text: '' }, events)
    const waiting = this.#citations
    this.#citations = []
    if (waiting.length > 0) this.cite(waiting, events)
  }

  private cite(citations: readonly Citation[], events: TextEvent[]): void {
    if (citations.length === 0) return
    this.#cited = true
    if (this.#kind !== 'text') {
      if (this.#citations.length + citations.length > MAX_PARTS) throw badUpstream('There are too many citations.')
      for (const citation of citations) this.#citations.push(citation)
      return
    }
    for (const citation of citations) {
      events.push({ type: 'part-citation', candidate: this.#number, index: this.#open, citation })
    }
  }

  private refuse(text: string, events: TextEvent[]): void {
    if (this.#kind !== 'refusal') this.open('refusal', { type: 'refusal', text: '' }, events)
    this.#refused = true
    events.push({ type: 'part-delta', candidate: this.#number, index: this.#open, text })
  }

  /** Content as an array of parts, with thoughts among them. */
  private readParts(parts: readonly Json[], logprobs: readonly TokenLogprob[] | undefined, events: TextEvent[]): void {
    for (const part of parts) {
      if (!isObject(part)) continue
      if (part.type === 'thinking') this.think(thoughtsOf(part.thinking), 'thinking', events)
      else if (part.type === 'image_url') for (const image of readImages([part])) this.whole(image, events)
      else if (typeof part.text === 'string' && part.text !== '') this.text(part.text, logprobs, events)
    }
  }

  private readReasoning(delta: JsonObject, events: TextEvent[]): void {
    const { reasoning_details: details, reasoning_content: content, reasoning } = delta
    let hasText = false
    if (Array.isArray(details)) {
      for (const detail of details) {
        if (!isObject(detail)) continue
        hasText ||= textOfDetail(detail) !== ''
        this.readDetail(detail, events)
      }
    }
    if (hasText) return
    if (typeof content === 'string' && content !== '') this.think(content, 'reasoning_content', events)
    else if (typeof reasoning === 'string' && reasoning !== '') this.think(reasoning, 'reasoning', events)
  }

  private think(text: string, member: ReasoningMember, events: TextEvent[]): void {
    if (text === '') return
    if (this.#kind !== 'reasoning' || this.#detail !== undefined) {
      this.open('reasoning', { type: 'reasoning', text: '' }, events)
      this.#member = member
      this.#length = 0
    }
    this.#length += text.length
    events.push({ type: 'part-delta', candidate: this.#number, index: this.#open, text })
  }

  /** An entry of `reasoning_details`: a piece of the one before, or another. Its seal is sent when it ends. */
  private readDetail(detail: JsonObject, events: TextEvent[]): void {
    const text = textOfDetail(detail)
    const bare: JsonObject = { ...detail, text: '', summary: '' }
    const seals = text === '' ? stringOf(detail.signature) !== undefined : text.length === this.#length
    if (this.#kind === 'reasoning' && this.#detail === undefined && seals) {
      // What came in pieces of plain text, sealed, and said again as a whole or not.
      this.#detail = new DetailInPieces(bare)
      return
    }
    if (this.#kind === 'reasoning' && this.#detail?.isContinuedBy(detail)) {
      this.#detail.add(bare)
    } else {
      if (text === '' && !stringOf(detail.signature) && !stringOf(detail.data)) return
      const { seal: _seal, ...shape } = sealOfDetail(detail)
      this.open('reasoning', { type: 'reasoning', text: '', ...shape }, events)
      this.#detail = new DetailInPieces(bare)
    }
    if (text !== '') events.push({ type: 'part-delta', candidate: this.#number, index: this.#open, text })
  }

  private readCall(piece: Json, events: TextEvent[]): void {
    if (!isObject(piece)) throw badUpstream('A chunk of a call is not an object.')
    const called = objectOf(piece.function) ?? objectOf(piece.custom)
    const name = called === undefined ? '' : (stringOf(called.name) ?? '')
    const id = stringOf(piece.id) ?? ''
    const call = this.#calls.find(piece, name, id) ?? this.startCall(piece, name, id, events)
    call.sealWith(piece.extra_content)
    const text = called === undefined ? '' : readArguments(call.custom ? called.input : called.arguments)
    if (text === '') return
    if (!call.open) throw badUpstream('Arguments arrived for a call that had ended.')
    call.grow(text)
    events.push({ type: 'part-delta', candidate: this.#number, index: call.index, text })
  }

  private startCall(piece: JsonObject, name: string, id: string, events: TextEvent[]): OpenCall {
    if (name === '') throw badUpstream('A call has no name.')
    for (const call of this.#calls.all) if (call.open && call.complete()) this.endCall(call, events)
    const custom = isObject(piece.custom)
    const part: Part = {
      type: 'call',
      id: id === '' ? this.#ids.of(this.#number, this.#calls.all.length) : id,
      name,
      arguments: '',
      ...(custom && { custom: true as const }),
    }
    if (this.#seal !== undefined && this.#kind !== 'text') this.startText(events)
    this.open('calls', part, events)
    const call = new OpenCall(this.#open, id, custom)
    this.#calls.add(piece, call)
    return call
  }

  private endCall(call: OpenCall, events: TextEvent[]): void {
    if (!call.open) return
    call.open = false
    events.push(partEnd(this.#number, call.index, call.seal))
  }

  /** A part that comes at once. */
  private whole(part: Part, events: TextEvent[]): void {
    const { seal, ...rest } = part
    this.open('none', rest, events)
    events.push(partEnd(this.#number, this.#open, seal))
  }

  /** Begins a part; what was open before has ended, but for calls whose arguments are still to come. */
  private open(kind: Kind, part: Part, events: TextEvent[]): void {
    if (this.ended) throw badUpstream('Content arrived for a choice that had ended.')
    if (this.#parts >= MAX_PARTS) throw badUpstream('There are too many parts.')
    this.close(events)
    if (kind !== 'calls') {
      for (const call of this.#calls.all) if (call.open && call.complete()) this.endCall(call, events)
    }
    this.#kind = kind
    this.#open = this.#parts++
    events.push({ type: 'part-start', candidate: this.#number, index: this.#open, part })
  }

  /** Ends the text, the thought or the refusal that is open. */
  private close(events: TextEvent[]): void {
    const kind = this.#kind
    this.#kind = 'none'
    if (kind === 'none' || kind === 'calls') return
    let seal: Seal | undefined
    if (kind === 'reasoning') {
      seal = this.#detail === undefined ? MEMBER_SEALS[this.#member] : sealOfDetail(this.#detail.whole()).seal
      this.#detail = undefined
    } else if (kind === 'text') {
      seal = this.#seal
      this.#seal = undefined
    }
    events.push(partEnd(this.#number, this.#open, seal))
  }
}

function partEnd(candidate: number, index: number, seal: Seal | undefined): TextEvent {
  return seal === undefined ? { type: 'part-end', candidate, index } : { type: 'part-end', candidate, index, seal }
}
