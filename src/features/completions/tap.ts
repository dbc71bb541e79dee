import { chat } from '../../codecs/chat/index.js'
import { Fold } from '../../codecs/fold.js'
import { OPEN_BRACE, SPACE } from '../../core/ascii.js'
import type { AnswerContext, Frame, StreamDecoder } from '../../core/codec.js'
import { parseExact } from '../../core/exact-json.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Tap } from '../../kernel/tap.js'
import { parsed } from '../../kernel/translate/steps.js'
import { asBuffer } from '../../wire/bytes.js'
import { SseDecoder } from '../../wire/sse.js'

/** Memory that a piece of a stream takes beside its text, bytes. */
const PIECE_BYTES = 64
/** Members of a chunk beside its choices. */
const BESIDE = ['"system_fingerprint"', '"service_tier"', '"usage"']

/** Assembles an answer's completion; undefined if the answer is not a whole completion. */
interface Reader {
  /** Returns true if the completion is whole; more bytes may follow. */
  push(bytes: Uint8Array): boolean
  completion(): Promise<JsonObject | undefined>
  /** Approximate size, bytes. */
  readonly size: number
}

type Keep = (completion: JsonObject, size: number) => Promise<void>

/**
 * Observes an answer, as a document or as events, until the completion is whole, and stores it before the last bytes are
 * sent: a client that has the answer can read it at once.
 */
export class CompletionTap implements Tap {
  kept: Promise<void> | undefined
  readonly #answer: AnswerContext
  readonly #mostBytes: number
  readonly #keep: Keep
  #reader: Reader | undefined

  /** `answer`: how a completion is written from events. `mostBytes`: a larger one is not stored. */
  constructor(answer: AnswerContext, mostBytes: number, keep: Keep) {
    this.#answer = answer
    this.#mostBytes = mostBytes
    this.#keep = keep
  }

  push(bytes: Uint8Array): void {
    if (this.kept !== undefined) return
    this.#reader ??= this.readerOf(bytes)
    if (this.#reader?.push(bytes) === true) this.kept = this.whole(this.#reader)
  }

  end(): void {
    if (this.kept === undefined && this.#reader !== undefined) this.kept = this.whole(this.#reader)
  }

  private readerOf(bytes: Uint8Array): Reader | undefined {
    const first = bytes.find(byte => byte > SPACE)
    if (first === undefined) return undefined
    if (first === OPEN_BRACE) return new DocumentReader(this.#mostBytes)
    return new EventReader(this.#answer, this.#mostBytes)
  }

  private async whole(reader: Reader): Promise<void> {
    const completion = await reader.completion()
    if (completion !== undefined) await this.#keep(completion, reader.size)
  }
}

class DocumentReader implements Reader {
  readonly #mostBytes: number
  #pieces: Uint8Array[] | undefined = []
  size = 0

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes
  }

  push(bytes: Uint8Array): boolean {
    this.size += bytes.length
    if (this.size > this.#mostBytes) this.#pieces = undefined
    this.#pieces?.push(bytes)
    return false
  }

  async completion(): Promise<JsonObject | undefined> {
    if (this.#pieces === undefined) return undefined
    const document = await parsed(Buffer.concat(this.#pieces), { exact: true }).catch(() => undefined)
    return isObject(document) && Array.isArray(document.choices) ? document : undefined
  }
}

class EventReader implements Reader {
  readonly #answer: AnswerContext
  readonly #events: SseDecoder
  readonly #decoder: StreamDecoder = chat.client.decodeStream()
  readonly #fold = new Fold()
  readonly #mostBytes: number
  #left: number
  readonly #said: Record<string, Json> = {}
  #state: 'open' | 'whole' | 'broken' = 'open'

  constructor(answer: AnswerContext, mostBytes: number) {
    this.#answer = answer
    this.#events = new SseDecoder({ line: mostBytes, event: mostBytes })
    this.#mostBytes = mostBytes
    this.#left = mostBytes
  }

  get size(): number {
    return this.#mostBytes - this.#left
  }

  push(bytes: Uint8Array): boolean {
    if (this.#state === 'open')
      this.guarded(() => this.#events.push(asBuffer(bytes)).flatMap(frame => this.read(frame)))
    return this.#state === 'whole'
  }

  async completion(): Promise<JsonObject | undefined> {
    if (this.#state === 'open') this.guarded(() => this.#decoder.end())
    if (this.#state !== 'whole') return undefined
    return { ...chat.server.encodeResult(this.#fold.result(), this.#answer), ...this.#said }
  }

  private read(frame: Frame): ReturnType<StreamDecoder['push']> {
    if (BESIDE.some(mark => frame.data.includes(mark))) {
      const chunk = parseExact(frame.data)
      if (isObject(chunk)) this.note(chunk)
    }
    return this.#decoder.push(frame)
  }

  /** Chunks repeat these members, or set them to null. */
  private note(chunk: JsonObject): void {
    const { system_fingerprint: fingerprint, service_tier: tier, usage } = chunk
    if (typeof fingerprint === 'string') this.#said.system_fingerprint = fingerprint
    if (typeof tier === 'string') this.#said.service_tier = tier
    if (isObject(usage)) this.#said.usage = usage
  }

  /** An answer that ends with an error, is too large or invalid is not stored. */
  private guarded(events: () => ReturnType<StreamDecoder['push']>): void {
    try {
      for (const event of events()) {
        this.#left -= PIECE_BYTES + ('text' in event ? event.text.length : 0)
        this.#fold.push(event)
        if (event.type === 'finish') this.#state = 'whole'
      }
      if (this.#left < 0) this.#state = 'broken'
    } catch {
      this.#state = 'broken'
    }
  }
}
