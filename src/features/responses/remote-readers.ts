import { MAX_MESSAGE_BYTES, type Peers, topic } from '../../core/peers.js'
import type { Follower, RunEvents } from './run.js'

/** Bytes of events in one answer, about. */
const BATCH_BYTES = 256 * 1024
/** A larger event fits into no message. */
const MAX_EVENT_BYTES = MAX_MESSAGE_BYTES - 64 * 1024
/** How long a question waits for a further event, milliseconds. */
const WAIT_MS = 3000
/** Who asks nothing for so long has left, milliseconds. */
const LEFT_MS = 15_000
/** Most readers at once. */
const MAX_READERS = 1024
/** Bytes of events that are set aside until their reader asks for them: of one, and of all. */
const MAX_ASIDE_BYTES = 4 * 1024 * 1024
const MAX_ALL_ASIDE_BYTES = 32 * 1024 * 1024

export interface Asked {
  readonly owner: string
  readonly id: string
  /** The number of the first event. */
  readonly first: number
  /** Names the one who reads. */
  readonly reader: string
}

/** Events one after another. */
export interface Batch {
  readonly frames: readonly Uint8Array[]
  /** No event follows these. */
  readonly isLast: boolean
  /** `gone`: the first one is no longer kept. `large`: it is too large to be passed on. */
  readonly fault?: 'gone' | 'large'
}

export const EVENTS = topic<Asked, Batch>('responses: events')

const GONE: Batch = { frames: [], isLast: false, fault: 'gone' }

/** Those who read runs of this process by way of another worker. */
export class RemoteReaders {
  readonly #find: (owner: string, id: string) => RunEvents | undefined
  readonly #tails = new Map<string, Tail>()
  readonly #aside = { bytes: 0 }

  constructor(peers: Peers, find: (owner: string, id: string) => RunEvents | undefined) {
    this.#find = find
    peers.on(EVENTS, asked => this.#answer(asked))
  }

  #answer({ owner, id, first, reader }: Asked): Promise<Batch> | Batch {
    const known = this.#tails.get(reader)
    if (known?.expected === first) return known.take()
    // It begins, or an answer has been lost.
    known?.end()
    const run = this.#find(owner, id)
    // Who does not run it gives no answer.
    if (run === undefined || this.#tails.size >= MAX_READERS) throw new Error('no such response here')
    if (!run.has(first)) return GONE
    const tail: Tail = new Tail(run, first, this.#aside, () => {
      if (this.#tails.get(reader) === tail) this.#tails.delete(reader)
    })
    this.#tails.set(reader, tail)
    return tail.take()
  }
}

/** What one reader has not asked for yet: set aside at once, since the run may let go of it. */
class Tail implements Follower {
  readonly #run: RunEvents
  readonly #aside: { bytes: number }
  readonly #onEnd: () => void
  readonly #leave: () => void
  /** The number of the event that the reader asks for next. */
  expected: number
  next: number
  #frames: Buffer[] = []
  #bytes = 0
  #wake: () => void = () => undefined
  #timer: NodeJS.Timeout | undefined

  constructor(run: RunEvents, first: number, aside: { bytes: number }, onEnd: () => void) {
    this.#run = run
    this.#aside = aside
    this.#onEnd = onEnd
    this.expected = first
    this.next = first
    this.#leave = run.follow(this)
    this.more()
  }

  more(): void {
    while (this.#bytes < MAX_ASIDE_BYTES && this.#aside.bytes < MAX_ALL_ASIDE_BYTES) {
      const frame = this.#run.event(this.next)
      if (frame === undefined) break
      this.next++
      this.#frames.push(frame)
      this.#count(frame.length)
    }
    this.#wake()
  }

  async take(): Promise<Batch> {
    clearTimeout(this.#timer)
    if (this.#frames.length === 0) this.more()
    if (this.#frames.length === 0 && !this.#isOver && this.#run.has(this.next)) await this.#further()
    this.#timer = setTimeout(() => this.end(), LEFT_MS).unref()
    const batch = this.#batch()
    this.expected += batch.frames.length
    if (batch.isLast || batch.fault !== undefined) this.end()
    return batch
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#leave()
    this.#count(-this.#bytes)
    this.#frames = []
    this.#onEnd()
  }

  get #isOver(): boolean {
    return this.#run.ended && this.next >= this.#run.next
  }

  #batch(): Batch {
    const [first] = this.#frames
    if (first === undefined && !this.#run.has(this.next)) return GONE
    if (first !== undefined && first.length > MAX_EVENT_BYTES) return { frames: [], isLast: false, fault: 'large' }
    let [count, size] = [0, 0]
    for (const { length } of this.#frames) {
      if (size >= BATCH_BYTES || size + length > MAX_EVENT_BYTES) break
      size += length
      count++
    }
    const frames = this.#frames.splice(0, count)
    this.#count(-size)
    return { frames, isLast: this.#frames.length === 0 && this.#isOver }
  }

  #further(): Promise<void> {
    return new Promise(resolve => {
      const timer = setTimeout(() => this.#wake(), WAIT_MS)
      this.#wake = () => {
        clearTimeout(timer)
        this.#wake = () => undefined
        resolve()
      }
    })
  }

  #count(bytes: number): void {
    this.#bytes += bytes
    this.#aside.bytes += bytes
  }
}
