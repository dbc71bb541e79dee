import type { Faults } from '../../faults/table.js'
import type { JsonObject } from '../../json.js'
import type { Seed } from '../../seed.js'
import { synthesize } from '../../sound/speech.js'
import { SAMPLE_BYTES, SAMPLE_RATE } from '../../sound/wav.js'
import type { ReplyPart, Turn } from '../../text/conversation.js'
import { compose } from '../../text/engine.js'
import { promptTokens, spoiled } from '../../text/usage.js'
import type { Item } from './items.js'
import type { Settings } from './session.js'

/** An event without its id. */
export type RealtimeEvent = JsonObject & { readonly type: string }

/** Tokens of a second of sound. */
const INPUT_TOKENS_PER_SECOND = 10
const OUTPUT_TOKENS_PER_SECOND = 20
const ARGUMENT_DELTA_TOKENS = 4

interface Asked {
  readonly settings: Settings
  readonly items: readonly Item[]
  readonly metadata: JsonObject | null
  readonly faults: Faults
  readonly seed: Seed
}

/**
 * A response: its events in the order in which they come, and the items that it adds to the conversation. Once `cancelled`
 * says why, it ends with what it has.
 */
export class RealtimeResponse {
  readonly id: string
  readonly #asked: Asked
  readonly #add: (item: Item) => string | null
  #cancelled: string | undefined
  readonly #output: JsonObject[] = []
  #texts = 0
  #samples = 0

  /** `add` takes an item into the conversation, and tells which one it follows. */
  constructor(asked: Asked, add: (item: Item) => string | null) {
    this.#asked = asked
    this.#add = add
    this.id = `resp_${asked.seed.letters(21)}`
  }

  cancel(reason: string): void {
    this.#cancelled ??= reason
  }

  *events(): Generator<RealtimeEvent> {
    const { settings, items, faults, seed } = this.#asked
    yield { type: 'response.created', response: this.object('in_progress', null, null) }
    const system: Turn = { role: 'system', parts: [{ type: 'text', text: settings.instructions }] }
    const turns = [system, ...items.map(item => item.turn)]
    const reply = compose({
      turns,
      tools: settings.tools,
      choice: settings.choice,
      parallel: true,
      format: { type: 'text' },
      limit: settings.limit,
      stop: [],
      effort: undefined,
      length: faults.tokens,
      seed,
    })
    for (const [index, part] of reply.parts.entries()) {
      if (this.#cancelled !== undefined) break
      yield* part.type === 'call' ? this.call(part, index) : this.message(part, index)
    }
    const [status, details] = this.ending(reply.finish === 'length')
    yield { type: 'response.done', response: this.object(status, details, this.usage(turns) ?? null) }
    yield { type: 'rate_limits.updated', rate_limits: LIMITS }
  }

  private ending(short: boolean): readonly [string, JsonObject | null] {
    if (this.#cancelled !== undefined) return ['cancelled', { type: 'cancelled', reason: this.#cancelled }]
    return short ? ['incomplete', { type: 'incomplete', reason: 'max_output_tokens' }] : ['completed', null]
  }

  private *message(part: ReplyPart, index: number): Generator<RealtimeEvent> {
    const { settings, seed } = this.#asked
    const id = `item_${seed.fork('item', index).letters(21)}`
    const at = { response_id: this.id, item_id: id, output_index: index, content_index: 0 }
    const text = part.tokens.join('')
    const head = { id, object: 'realtime.item', type: 'message', role: 'assistant' }
    yield* this.begin({ ...head, status: 'in_progress', content: [] }, index, {
      id,
      object: { ...head, status: 'completed', content: [this.content(text)] },
      turn: { role: 'assistant', parts: [{ type: 'text', text }] },
      sound: 0,
    })
    yield { type: 'response.content_part.added', ...at, part: this.part('') }
    const said = settings.audio ? yield* this.speech(part.tokens, at) : yield* this.words(part.tokens, at)
    const whole = said === text && this.#cancelled === undefined
    if (settings.audio) {
      yield { type: 'response.output_audio.done', ...at }
      yield { type: 'response.output_audio_transcript.done', ...at, transcript: said }
    } else yield { type: 'response.output_text.done', ...at, text: said }
    yield { type: 'response.content_part.done', ...at, part: this.part(said) }
    const status = whole ? 'completed' : 'incomplete'
    yield* this.finish({ ...head, status, content: [this.content(said)] }, index)
  }

  private content(text: string): JsonObject {
    return this.#asked.settings.audio ? { type: 'output_audio', transcript: text } : { type: 'output_text', text }
  }

  /** The same as events about the part alone have it: other names for the same two things. */
  private part(text: string): JsonObject {
    return this.#asked.settings.audio ? { type: 'audio', transcript: text } : { type: 'text', text }
  }

  private *words(tokens: readonly string[], at: JsonObject): Generator<RealtimeEvent, string> {
    let said = ''
    for (const delta of tokens) {
      if (this.#cancelled !== undefined) break
      said += delta
      this.#texts++
      yield { type: 'response.output_text.delta', ...at, delta }
    }
    return said
  }

  /** Sound in tenths of a second, and the words that are heard in each before it. */
  private *speech(tokens: readonly string[], at: JsonObject): Generator<RealtimeEvent, string> {
    const { pitch, speed } = this.#asked.settings
    let said = ''
    let next = 0
    let heard = 0
    for (const piece of synthesize({ text: tokens.join(''), pitch, speed })) {
      if (this.#cancelled !== undefined) break
      heard += piece.length
      for (; next < tokens.length && soundFor(said, speed) < heard; next++) {
        const delta = tokens[next] ?? ''
        said += delta
        this.#texts++
        yield { type: 'response.output_audio_transcript.delta', ...at, delta }
      }
      this.#samples += piece.length / SAMPLE_BYTES
      yield { type: 'response.output_audio.delta', ...at, delta: piece.toString('base64') }
    }
    for (; this.#cancelled === undefined && next < tokens.length; next++) {
      const delta = tokens[next] ?? ''
      said += delta
      yield { type: 'response.output_audio_transcript.delta', ...at, delta }
    }
    return said
  }

  private *call(part: ReplyPart & { type: 'call' }, index: number): Generator<RealtimeEvent> {
    const { seed } = this.#asked
    const id = `item_${seed.fork('item', index).letters(21)}`
    const callId = `call_${seed.fork('call', index).letters(16)}`
    const { name } = part.tool
    const text = part.tokens.join('')
    const at = { response_id: this.id, item_id: id, output_index: index, call_id: callId }
    const head = { id, object: 'realtime.item', type: 'function_call', name, call_id: callId }
    yield* this.begin({ ...head, status: 'in_progress', arguments: '' }, index, {
      id,
      object: { ...head, status: 'completed', arguments: text },
      turn: { role: 'assistant', parts: [{ type: 'call', id: callId, name, arguments: text }] },
      sound: 0,
    })
    for (let from = 0; from < part.tokens.length; from += ARGUMENT_DELTA_TOKENS) {
      const delta = part.tokens.slice(from, from + ARGUMENT_DELTA_TOKENS).join('')
      this.#texts += Math.min(ARGUMENT_DELTA_TOKENS, part.tokens.length - from)
      yield { type: 'response.function_call_arguments.delta', ...at, delta }
    }
    yield { type: 'response.function_call_arguments.done', ...at, name, arguments: text }
    yield* this.finish({ ...head, status: 'completed', arguments: text }, index)
  }

  private *begin(item: JsonObject, index: number, kept: Item): Generator<RealtimeEvent> {
    yield { type: 'response.output_item.added', response_id: this.id, output_index: index, item }
    yield { type: 'conversation.item.added', previous_item_id: this.#add(kept), item }
  }

  private *finish(item: JsonObject, index: number): Generator<RealtimeEvent> {
    this.#output.push(item)
    yield { type: 'conversation.item.done', previous_item_id: null, item }
    yield { type: 'response.output_item.done', response_id: this.id, output_index: index, item }
  }

  private usage(turns: readonly Turn[]): JsonObject | undefined {
    const { items, settings, faults } = this.#asked
    const heard = items.reduce((sum, item) => sum + item.sound, 0) / SAMPLE_BYTES / SAMPLE_RATE
    const counted = promptTokens({ turns, tools: settings.tools })
    const audio = Math.ceil(heard * INPUT_TOKENS_PER_SECOND)
    const text = counted.input - counted.audio
    const spoken = Math.ceil((this.#samples / SAMPLE_RATE) * OUTPUT_TOKENS_PER_SECOND)
    const usage = {
      total_tokens: text + audio + this.#texts + spoken,
      input_tokens: text + audio,
      output_tokens: this.#texts + spoken,
      input_token_details: {
        text_tokens: text,
        audio_tokens: audio,
        image_tokens: 0,
        cached_tokens: 0,
        cached_tokens_details: { text_tokens: 0, audio_tokens: 0, image_tokens: 0 },
      },
      output_token_details: { text_tokens: this.#texts, audio_tokens: spoken },
    }
    return spoiled(usage, faults)
  }

  private object(status: string, details: JsonObject | null, usage: JsonObject | null): JsonObject {
    const { settings, metadata } = this.#asked
    return {
      object: 'realtime.response',
      id: this.id,
      status,
      status_details: details,
      output: [...this.#output],
      conversation_id: 'conv_simulator',
      output_modalities: [settings.audio ? 'audio' : 'text'],
      max_output_tokens: settings.limit ?? 'inf',
      audio: { output: { format: { type: 'audio/pcm', rate: SAMPLE_RATE }, voice: settings.voice } },
      usage,
      metadata,
    }
  }
}

/** Of a client that has hardly used them. */
const LIMITS = [
  { name: 'requests', limit: 10_000, remaining: 9999, reset_seconds: 0.006 },
  { name: 'tokens', limit: 1_000_000, remaining: 999_999, reset_seconds: 0 },
] as const

/** About how many bytes of sound a text takes. */
function soundFor(text: string, speed: number): number {
  return (text.length * 60 * SAMPLE_RATE * SAMPLE_BYTES) / 1000 / speed
}
