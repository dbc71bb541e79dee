import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import type { Peers } from '../../core/peers.js'
import { type Asked, type Batch, EVENTS } from './remote-readers.js'
import type { Follower, RunEvents } from './run.js'

/** How long the worker that runs it may take to answer, milliseconds. */
const TIMEOUT_MS = 5000
/** How often it is asked again when it does not, and after which pause, milliseconds. */
const MAX_TRIES = 3
const PAUSE_MS = 500

/** The events of a run of another worker: read in batches, the next one when the reader has taken those before. */
export class RemoteRun implements RunEvents {
  readonly response: JsonObject
  readonly #ask: (first: number) => Promise<Batch | undefined>
  #first: number
  #batch: Batch
  #follower: Follower | undefined
  #isAsking = false
  fault: GatewayError | undefined

  /** Undefined where no other worker has the events from `first` on. `response`: as it was kept. */
  static async find(peers: Peers, response: JsonObject, of: Omit<Asked, 'reader'>): Promise<RemoteRun | undefined> {
    if (peers.number === 0) return undefined
    const asked = { ...of, reader: randomUUID() }
    const ask = async (first: number): Promise<Batch | undefined> => {
      const [found] = await peers.ask(EVENTS, { ...asked, first }, TIMEOUT_MS)
      return found?.answer
    }
    const batch = await ask(asked.first)
    if (batch === undefined || batch.fault === 'gone') return undefined
    return new RemoteRun(response, ask, asked.first, batch)
  }

  private constructor(
    response: JsonObject,
    ask: (first: number) => Promise<Batch | undefined>,
    first: number,
    batch: Batch,
  ) {
    this.response = response
    this.#ask = ask
    this.#first = first
    this.#batch = batch
    this.fault = faultOf(batch)
  }

  get next(): number {
    return this.#first + this.#batch.frames.length
  }

  get ended(): boolean {
    return this.#batch.isLast
  }

  has(): boolean {
    return this.fault === undefined
  }

  event(sequence: number): Buffer | undefined {
    const frame = this.#batch.frames[sequence - this.#first]
    if (frame !== undefined) return Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength)
    if (!this.ended && this.fault === undefined && !this.#isAsking) void this.#read(sequence)
    return undefined
  }

  follow(follower: Follower): () => void {
    this.#follower = follower
    return () => {
      this.#follower = undefined
    }
  }

  async #read(first: number): Promise<void> {
    this.#isAsking = true
    let batch = await this.#ask(first)
    for (let tries = 1; tries < MAX_TRIES && batch === undefined && this.#follower !== undefined; tries++) {
      await delay(PAUSE_MS)
      batch = await this.#ask(first)
    }
    this.#isAsking = false
    this.fault = faultOf(batch)
    if (batch !== undefined) {
      this.#first = first
      this.#batch = batch
    }
    this.#follower?.more()
  }
}

function faultOf(batch: Batch | undefined): GatewayError | undefined {
  if (batch === undefined) return unavailable('The process that makes this response does not answer.')
  if (batch.fault === 'large') return unavailable('An event is too large. Request the response without events.')
  if (batch.fault === 'gone') return unavailable('The events of this response are no longer kept.')
  return undefined
}

function unavailable(message: string): GatewayError {
  return new GatewayError('unavailable', message, { limit: 'events' })
}
