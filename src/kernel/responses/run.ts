import { jsonText, readExact } from '../../core/exact-json.js'
import { isObject, type JsonObject, parseJson } from '../../core/json.js'
import { SseDecoder, WireLimitError } from '../../wire/sse.js'
import type { InnerExchange, Receiver } from '../inner.js'
import { EventLog } from './event-log.js'
import type { EventShares } from './event-shares.js'
import { type OwnResponse, sizeOf } from './stored.js'

/** How much more than its share a run keeps for somebody who reads its events and is that far behind. */
const UNREAD_SHARES = 4
const LIMITS = { line: 16 * 1024 * 1024, event: 16 * 1024 * 1024 }
/** Most of a refusal that is read. */
const MAX_REFUSAL_CHARS = 64 * 1024

/** Events that carry the response as a whole; those of the second kind are the last ones. */
const WHOLE = new Set(['response.created', 'response.queued', 'response.in_progress'])
const LAST = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** Somebody who reads a run's events. */
export interface Follower {
  /** The number of the event that is to be read next. */
  readonly next: number
  /** There is more, or nothing more will come. */
  more(): void
}

/** An answer that is made while no client waits for it. */
export class Run implements Receiver {
  readonly owner: string
  readonly id: string
  readonly #draft: OwnResponse
  readonly #onEnd: (run: Run) => void
  readonly #decoder = new SseDecoder(LIMITS)
  readonly #followers = new Set<Follower>()
  readonly #shares: Pick<EventShares, 'of'>
  /** The newest events, as frames of an event stream. */
  readonly #events = new EventLog()
  #status = 0
  #refusal = ''
  #request: InnerExchange | undefined
  /** The response as far as it is known. */
  response: JsonObject
  /** Nothing more will come. */
  ended = false

  /** `draft` is the response as it was kept when the run began. `shares`: what it may keep of its events. */
  constructor(owner: string, draft: OwnResponse, shares: Pick<EventShares, 'of'>, onEnd: (run: Run) => void) {
    this.owner = owner
    this.id = draft.id
    this.#draft = draft
    this.#shares = shares
    this.response = draft.response
    this.#onEnd = onEnd
  }

  /** The response as it is to be kept now. */
  get kept(): OwnResponse {
    const { response } = this
    const { bytes, items = 0 } = this.#draft
    const output = response.output ?? []
    const added = Array.isArray(output) ? output.length : 0
    return { ...this.#draft, response, bytes: bytes + sizeOf(output), items: items + added }
  }

  /** The sequence number of the next event. */
  get next(): number {
    return this.#events.next
  }

  /** Whether the events from that number on can all be read, now or when they come. */
  has(sequence: number): boolean {
    return sequence >= this.#events.first
  }

  /** The event of that number as a frame of an event stream; undefined where it has yet to come, or is let go of. */
  event(sequence: number): Buffer | undefined {
    return this.#events.at(sequence)
  }

  /** Tells `follower` whenever there is more, and once at the end, until the answer is called. */
  follow(follower: Follower): () => void {
    this.#followers.add(follower)
    return () => this.#followers.delete(follower)
  }

  begin(request: InnerExchange): void {
    this.#request = request
  }

  cancel(): void {
    if (this.ended) return
    // Streams know no event for this: it is a response that did not come about, and its status says why.
    this.last({ ...this.response, status: 'cancelled' })
    this.#request?.destroy()
  }

  // ── what comes

  head(status: number): void {
    this.#status = status
  }

  data(bytes: Buffer): boolean {
    if (this.ended) return true
    if (this.#status !== 200) {
      if (this.#refusal.length < MAX_REFUSAL_CHARS) this.#refusal += bytes.toString('utf8')
      return true
    }
    try {
      for (const { event = '', data } of this.#decoder.push(bytes)) this.take(event, data)
    } catch (cause) {
      if (!(cause instanceof WireLimitError)) throw cause
      this.fail('The answer is too large to be stored.')
      this.#request?.destroy()
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
    // Upstreams that speak the protocol have names of their own for what is kept here.
    const response = { ...event.response, id: this.id, background: true, store: true }
    if (!isLast) this.response = response
    this.tell(name, jsonText({ ...event, response }))
    if (isLast) this.finish(response)
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

  /** Lets go of older events than its share has room for, but within bounds of nothing that has yet to be read. */
  trim(): void {
    const share = this.#shares.of(this.owner)
    if (this.#events.size <= share) return
    let unread = this.next
    if (this.#events.size <= UNREAD_SHARES * share)
      for (const { next } of this.#followers) unread = Math.min(unread, next)
    this.#events.trim(share, unread)
  }

  private finish(response: JsonObject): void {
    this.response = response
    this.ended = true
    this.#onEnd(this)
    for (const follower of this.#followers) follower.more()
    this.#followers.clear()
  }
}

function messageOf(refusal: string): string {
  const body = parseJson(refusal)
  const error = isObject(body) ? body.error : undefined
  return isObject(error) && typeof error.message === 'string' ? error.message : 'The request was refused.'
}
