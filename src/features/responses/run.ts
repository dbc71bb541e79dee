import type { GatewayError } from '../../core/errors.js'
import { jsonText, readExact } from '../../core/exact-json.js'
import { isObject, type JsonObject, parseJson } from '../../core/json.js'
import type { InnerExchange, Receiver } from '../../kernel/inner.js'
import { SseDecoder, WireLimitError } from '../../wire/sse.js'
import { EventLog } from './event-log.js'
import type { EventShares } from './event-shares.js'
import { type OwnResponse, sizeOf } from './stored.js'

const LIMITS = { line: 16 * 1024 * 1024, event: 16 * 1024 * 1024 }
/** Most of a refusal that is read, characters. */
const MAX_REFUSAL_CHARS = 64 * 1024

/** Events that contain the whole response; those in `LAST` end the stream. */
const WHOLE = new Set(['response.created', 'response.queued', 'response.in_progress'])
const LAST = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** A reader of a run's events. */
export interface Follower {
  /** The number of the next event to read. */
  readonly next: number
  /** There are more events, or the run has ended. */
  more(): void
}

/** The events of a run, here or in another worker. */
export interface RunEvents {
  /** The response in its present state. */
  readonly response: JsonObject
  /** The sequence number of the next event. */
  readonly next: number
  /** There will be no more events. */
  readonly ended: boolean
  /** Why the rest cannot be read, where that is not because the reader is too slow. */
  readonly fault?: GatewayError | undefined
  /** Whether all events from that number on are kept or still to come. */
  has(sequence: number): boolean
  /** An event as an SSE frame; undefined if it is still to come, or was dropped. */
  event(sequence: number): Buffer | undefined
  /** Calls `follower.more` for new events and at the end. The result unsubscribes. */
  follow(follower: Follower): () => void
}

/** An answer that is made while no client waits for it. */
export class Run implements Receiver, RunEvents {
  readonly owner: string
  readonly id: string
  /** What ended runs have no use for: it is as large as requests and answers are. */
  #making: { readonly draft: OwnResponse; readonly decoder: SseDecoder; request?: InnerExchange } | undefined
  readonly #onEnd: (run: Run, kept: OwnResponse) => void
  readonly #followers = new Set<Follower>()
  readonly #shares: Pick<EventShares, 'of' | 'unread'>
  /** The newest events, as SSE frames. */
  readonly #events = new EventLog()
  #status = 0
  #refusal = ''
  response: JsonObject
  ended = false

  /**
   * `draft`: the response as stored when the run began. `shares`: how much memory its events may take. `onEnd` gets the
   * response to store.
   */
  constructor(
    owner: string,
    draft: OwnResponse,
    shares: Pick<EventShares, 'of' | 'unread'>,
    onEnd: (run: Run, kept: OwnResponse) => void,
  ) {
    this.owner = owner
    this.id = draft.id
    this.#making = { draft, decoder: new SseDecoder(LIMITS) }
    this.#shares = shares
    this.response = draft.response
    this.#onEnd = onEnd
  }

  get next(): number {
    return this.#events.next
  }

  has(sequence: number): boolean {
    return sequence >= this.#events.first
  }

  event(sequence: number): Buffer | undefined {
    return this.#events.at(sequence)
  }

  follow(follower: Follower): () => void {
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }

  begin(request: InnerExchange): void {
    if (this.#making !== undefined) this.#making.request = request
  }

  cancel(): void {
    if (this.#making === undefined) return
    const { request } = this.#making
    // Streams have no event for a cancelled response; its status says it.
    this.last({ ...this.response, status: 'cancelled' })
    request?.destroy()
  }

  /** Drops the events: no one finds the run any more. */
  drop(): void {
    this.#events.clear()
  }

  // ── the answer

  head(status: number): void {
    this.#status = status
  }

  data(bytes: Buffer): boolean {
    if (this.#making === undefined) return true
    const { decoder, request } = this.#making
    if (this.#status !== 200) {
      if (this.#refusal.length < MAX_REFUSAL_CHARS) this.#refusal += bytes.toString('utf8')
      return true
    }
    try {
      for (const { event = '', data } of decoder.push(bytes)) this.take(event, data)
    } catch (cause) {
      if (!(cause instanceof WireLimitError)) throw cause
      this.fail('The answer is too large to be stored.')
      request?.destroy()
    }
    return true
  }

  end(): void {
    this.fail(this.#status === 200 ? 'The answer ended early.' : messageOf(this.#refusal))
  }

  broken(): void {
    this.fail('The answer ended early.')
  }

  private take(name: string, data: string): void {
    if (this.ended) return
    const isLast = LAST.has(name)
    if (!isLast && !WHOLE.has(name)) {
      this.tell(name, data)
      return
    }
    const event = readExact(data)
    if (!isObject(event) || !isObject(event.response)) return
    // Upstreams that speak the protocol use ids of their own, and do not store the response.
    const own = { id: this.id, background: true, store: true, ...this.moments(event.response) }
    const response = { ...event.response, ...own }
    if (!isLast) this.response = response
    this.tell(name, jsonText({ ...event, response }))
    if (isLast) this.finish(response)
  }

  /** By one clock: the upstream's began with its attempt, and may be another. */
  private moments({ completed_at }: JsonObject): JsonObject {
    const { created_at } = this.response
    return {
      ...(created_at !== undefined && { created_at }),
      ...(typeof completed_at === 'number' && { completed_at: Math.floor(Date.now() / 1000) }),
    }
  }

  private fail(message: string): void {
    if (this.ended) return
    this.last({ ...this.response, status: 'failed', error: { code: 'server_error', message } })
  }

  private last(response: JsonObject): void {
    const event = { type: 'response.failed', sequence_number: this.next, response }
    this.tell('response.failed', jsonText(event))
    this.finish(response)
  }

  private tell(name: string, data: string): void {
    this.#events.append(`event: ${name}\ndata: ${data}\n\n`)
    for (const follower of this.#followers) follower.more()
    this.trim()
  }

  /** Drops events beyond the share's size, but keeps unread ones up to a bound. */
  trim(): void {
    const share = this.#shares.of(this.owner)
    if (this.#events.size <= share) return
    let unread = this.next
    if (this.#events.size <= this.#shares.unread(this.owner))
      for (const { next } of this.#followers) unread = Math.min(unread, next)
    this.#events.trim(share, unread)
  }

  private finish(response: JsonObject): void {
    const draft = this.#making?.draft
    this.#making = undefined
    this.response = response
    this.ended = true
    if (draft !== undefined) this.#onEnd(this, withAnswer(draft, response))
    for (const follower of this.#followers) follower.more()
    this.#followers.clear()
  }
}

function withAnswer(draft: OwnResponse, response: JsonObject): OwnResponse {
  const { bytes, items = 0 } = draft
  const output = response.output ?? []
  const added = Array.isArray(output) ? output.length : 0
  return { ...draft, response, bytes: bytes + sizeOf(output), items: items + added }
}

function messageOf(refusal: string): string {
  const body = parseJson(refusal)
  const error = isObject(body) ? body.error : undefined
  return isObject(error) && typeof error.message === 'string' ? error.message : 'The request was refused.'
}
