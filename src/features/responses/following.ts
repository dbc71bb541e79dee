import { streamErrorFrame } from '../../core/error-bodies.js'
import { GatewayError } from '../../core/errors.js'
import type { Work } from '../../kernel/watchdog.js'
import type { Follower, RunEvents } from './run.js'

/** The answer that a run's events are written to. */
export interface RunReader {
  readonly id: string
  readonly request: { flush(): void }
  work: Work | undefined
  error: GatewayError | undefined
  readonly begun: boolean
  begin(status: number, headers: string[]): void
  /** Returns false if the client is slower; `onDrain` is called when more can be written. */
  write(bytes: Uint8Array, onDrain: () => void): boolean
  end(bytes?: string): void
}

/** Sends the events of a run, from a given one, as fast as the client reads. The run does not wait for its readers. */
export class Following implements Work, Follower {
  readonly #call: RunReader
  readonly #run: RunEvents
  next: number
  #leave: () => void = () => undefined
  #state: 'open' | 'waiting' | 'over' = 'open'

  constructor(call: RunReader, run: RunEvents, first: number) {
    this.#call = call
    this.#run = run
    this.next = first
  }

  start(): void {
    const call = this.#call
    call.work = this
    call.begin(200, ['content-type', 'text/event-stream; charset=utf-8', 'cache-control', 'no-cache'])
    // The client has left meanwhile.
    if (!call.begun) return
    // The first event may take long.
    call.request.flush()
    this.#leave = this.#run.follow(this)
    this.more()
  }

  check(): void {
    // The run has its own time limits, and the call watches a client that does not read.
  }

  cancel(): void {
    this.#state = 'over'
    this.#leave()
  }

  cut(error: GatewayError): boolean {
    const { response } = this.#run
    if (this.#state !== 'over') this.breakOff(error, { response, sequence: this.next })
    return true
  }

  more(): void {
    const [call, run] = [this.#call, this.#run]
    while (this.#state === 'open') {
      const frame = run.event(this.next)
      if (frame === undefined) break
      this.next++
      if (!call.write(frame, this.resume)) this.#state = 'waiting'
    }
    if (this.#state !== 'open') return
    if (!run.has(this.next)) this.breakOff(run.fault ?? tooSlow(), undefined)
    else if (run.ended && this.next >= run.next) this.end()
  }

  private readonly resume = (): void => {
    if (this.#state !== 'waiting') return
    this.#state = 'open'
    this.more()
  }

  /** Ends with an error event, so that the stream never looks complete. */
  private breakOff(error: GatewayError, started: Parameters<typeof streamErrorFrame>[3]): void {
    const call = this.#call
    call.error ??= error
    this.end(streamErrorFrame(error, 'responses', call.id, started))
  }

  private end(last?: string): void {
    this.cancel()
    this.#call.end(last)
  }
}

function tooSlow(): GatewayError {
  const message = 'The events arrived faster than they were read. Request the response without events.'
  return new GatewayError('unavailable', message, { limit: 'events' })
}
