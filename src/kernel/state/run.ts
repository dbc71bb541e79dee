import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.js'
import { SseDecoder } from '../../wire/sse.js'
import type { InnerResponse, Receiver } from '../inner.js'
import { type OwnResponse, sizeOf } from './stored.js'

/** What is kept of a run's events, so that they can be read again, in bytes. Past it the run goes on unseen. */
const MOST_EVENTS = 2 * 1024 * 1024
const LIMITS = { line: 16 * 1024 * 1024, event: 16 * 1024 * 1024 }
/** Most of a refusal that is read. */
const MOST_REFUSAL = 64 * 1024

/** Events that carry the response as a whole; those of the second kind are the last ones. */
const WHOLE = new Set(['response.created', 'response.queued', 'response.in_progress'])
const LAST = new Set(['response.completed', 'response.incomplete', 'response.failed'])

/** An answer that is made while no client waits for it. */
export class Run implements Receiver {
  readonly owner: string
  readonly id: string
  readonly #draft: OwnResponse
  readonly #onEnd: (run: Run) => void
  readonly #decoder = new SseDecoder(LIMITS)
  readonly #followers = new Set<() => void>()
  #events: string[] | undefined = []
  #bytes = 0
  #status = 0
  #refusal = ''
  #answer: InnerResponse | undefined
  /** The response as far as it is known. */
  response: JsonObject
  /** Nothing more will come. */
  ended = false

  /** `draft` is the response as it was kept when the run began. */
  constructor(owner: string, draft: OwnResponse, onEnd: (run: Run) => void) {
    this.owner = owner
    this.id = draft.id
    this.#draft = draft
    this.response = draft.response
    this.#onEnd = onEnd
  }

  /** The response as it is to be kept now. */
  get kept(): OwnResponse {
    const { response } = this
    return { ...this.#draft, response, bytes: this.#draft.bytes + sizeOf(response.output ?? []) }
  }

  /** The events so far, as frames of an event stream, by their sequence number; undefined where they were too many. */
  get events(): readonly string[] | undefined {
    return this.#events
  }

  /** Calls `notify` whenever there is more, and once at the end, until the answer is called. */
  follow(notify: () => void): () => void {
    this.#followers.add(notify)
    return () => this.#followers.delete(notify)
  }

  begin(answer: InnerResponse): void {
    this.#answer = answer
  }

  cancel(): void {
    if (this.ended) return
    // Streams know no event for this: it is a response that did not come about, and its status says why.
    this.last({ ...this.response, status: 'cancelled' })
    this.#answer?.destroy()
  }

  // ── what comes

  head(status: number): void {
    this.#status = status
  }

  data(bytes: Buffer): boolean {
    if (this.ended) return true
    if (this.#status !== 200) {
      if (this.#refusal.length < MOST_REFUSAL) this.#refusal += bytes.toString('utf8')
      return true
    }
    for (const { event = '', data } of this.#decoder.push(bytes)) this.event(event, data)
    return true
  }

  end(): void {
    this.fail(this.#status === 200 ? 'The answer broke off.' : messageOf(this.#refusal))
  }

  broken(): void {
    this.fail('The answer broke off.')
  }

  private event(name: string, data: string): void {
    if (this.ended) return
    const isLast = LAST.has(name)
    if (!isLast && !WHOLE.has(name)) {
      this.tell(name, data)
      return
    }
    const event = JSON.parse(data) as Json
    if (!isObject(event) || !isObject(event.response)) return
    const response = { ...event.response, background: true }
    if (!isLast) this.response = response
    this.tell(name, JSON.stringify({ ...event, response }))
    if (isLast) this.finish(response)
  }

  private fail(message: string): void {
    if (this.ended) return
    this.last({ ...this.response, status: 'failed', error: { code: 'server_error', message } })
  }

  private last(response: JsonObject): void {
    const event = { type: 'response.failed', sequence_number: this.#events?.length ?? 0, response }
    this.tell('response.failed', JSON.stringify(event))
    this.finish(response)
  }

  private tell(name: string, data: string): void {
    const frame = `event: ${name}\ndata: ${data}\n\n`
    this.#bytes += frame.length
    if (this.#bytes > MOST_EVENTS) this.#events = undefined
    this.#events?.push(frame)
    for (const notify of this.#followers) notify()
  }

  private finish(response: JsonObject): void {
    this.response = response
    this.ended = true
    this.#onEnd(this)
    for (const notify of this.#followers) notify()
    this.#followers.clear()
  }
}

function messageOf(refusal: string): string {
  const body = parseJson(refusal)
  const error = isObject(body) ? body.error : undefined
  return isObject(error) && typeof error.message === 'string' ? error.message : 'The request was refused.'
}
