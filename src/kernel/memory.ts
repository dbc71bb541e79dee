import { getHeapStatistics } from 'node:v8'
import { GatewayError } from '../core/errors.js'

/** Longest wait for memory. */
const MAX_WAIT_MS = 10_000
/** Longest wait for a body's memory: its bytes wait at the client, and cost nothing here. */
const MAX_BODY_WAIT_MS = 30_000
/** Most waiting requests; each holds its body meanwhile. */
const MAX_WAITING_REQUESTS = 1024
/** The `retry-after` of a refusal. */
const RETRY_AFTER_MS = 1000

/** Share of all memory up to which a request is small: small requests pass larger ones that wait. */
const SMALL_REQUEST_SHARE = 1 / 16
/** Share that large requests may fill; the rest is for small ones. */
const LARGE_REQUESTS_SHARE = 3 / 4
/** Most of the heap that one {@link Memory} may hold: there are two, for requests and answers. */
const HEAP_SHARE = 1 / 4

/** The declared limit, or less if the heap of this process is too small for it. */
export function capacityOf(declared: number): number {
  return Math.min(declared, Math.floor(getHeapStatistics().heap_size_limit * HEAP_SHARE))
}

/** Memory for bodies: as declared, and enough for the largest one with its copy. */
export function bodyCapacity(declared: number, largest: number): number {
  return Math.max(declared, (COPIES_PER_BODY * largest) / LARGE_REQUESTS_SHARE)
}

/** Two copies: a body, and its changed or translated form. */
export const COPIES_PER_BODY = 2

/** Limits and messages of a {@link Memory}. */
interface Use {
  readonly limit: string
  /** Milliseconds. */
  readonly wait: number
  readonly noRoom: string
  readonly tooLarge: string
}

const FOR_OBJECTS: Use = {
  limit: 'memory',
  wait: MAX_WAIT_MS,
  noRoom: 'The gateway is translating too much at the moment. Try again soon.',
  tooLarge: 'The body is too large to be translated.',
}
export const FOR_BODIES: Use = {
  limit: 'body_memory',
  wait: MAX_BODY_WAIT_MS,
  noRoom: 'The gateway holds too many large requests at the moment. Try again soon.',
  tooLarge: 'The body is too large to be held.',
}

interface Waiter {
  readonly lease: MemoryLease
  readonly bytes: number
  readonly timer: NodeJS.Timeout
  grant(): void
  refuse(error: GatewayError): void
}

/**
 * Counts the memory that documents take, over all requests: it is reserved before a document is read or parsed, and released
 * when it is dropped. Requests wait for memory, for a bounded time. The one whose owner holds the least is next, so that one
 * key cannot delay another one's first request.
 */
export class Memory {
  #capacity: number
  readonly #use: Use
  #reserved = 0
  readonly #owners = new Map<string, number>()
  readonly #waiting: Waiter[] = []

  constructor(capacity: number, use: Partial<Use> = {}) {
    this.#capacity = capacity
    this.#use = { ...FOR_OBJECTS, ...use }
  }

  /** Changes the capacity; existing leases stay. */
  resize(capacity: number): void {
    this.#capacity = capacity
    this.serve()
  }

  /** Reserved bytes. */
  get held(): number {
    return this.#reserved
  }

  get waiting(): number {
    return this.#waiting.length
  }

  lease(owner: string): MemoryLease {
    return new MemoryLease(this, owner)
  }

  /** Whether so much can never be reserved. */
  exceeds(bytes: number): boolean {
    return bytes > this.#capacity * LARGE_REQUESTS_SHARE
  }

  /** Only for leases. Undefined if the bytes are reserved at once. Rejects with `unavailable` or `too_large`. */
  reserve(lease: MemoryLease, bytes: number): Promise<void> | undefined {
    if (this.exceeds(lease.bytes + bytes)) throw this.tooLarge()
    const isSmall = this.isSmall(bytes)
    if (this.fits(bytes) && !this.#waiting.some(other => isSmall === this.isSmall(other.bytes))) {
      this.add(lease, bytes)
      return undefined
    }
    if (this.#waiting.length >= MAX_WAITING_REQUESTS) throw this.noRoom()
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.remove(lease)
        reject(this.noRoom())
        this.serve()
      }, this.#use.wait)
      this.#waiting.push({ lease, bytes, timer, grant: resolve, refuse: reject })
    })
  }

  /** Only for leases. */
  give(lease: MemoryLease, bytes: number): void {
    const left = (this.#owners.get(lease.owner) ?? 0) - bytes
    this.#reserved -= bytes
    if (left > 0) this.#owners.set(lease.owner, left)
    else this.#owners.delete(lease.owner)
    this.serve()
  }

  /** For leases only: stops waiting. */
  leave(lease: MemoryLease): void {
    const waiter = this.remove(lease)
    if (waiter === undefined) return
    clearTimeout(waiter.timer)
    waiter.refuse(ended())
    this.serve()
  }

  private remove(lease: MemoryLease): Waiter | undefined {
    const index = this.#waiting.findIndex(waiter => waiter.lease === lease)
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0]
  }

  private serve(): void {
    for (let next = this.next(); next !== undefined; next = this.next()) {
      this.#waiting.splice(this.#waiting.indexOf(next), 1)
      clearTimeout(next.timer)
      this.add(next.lease, next.bytes)
      next.grant()
    }
  }

  /** The small request whose owner holds the least or, if there is no memory for that one, such a large one. */
  private next(): Waiter | undefined {
    const small = this.first(true)
    if (small !== undefined && this.fits(small.bytes)) return small
    const large = this.first(false)
    return large !== undefined && this.fits(large.bytes) ? large : undefined
  }

  private first(small: boolean): Waiter | undefined {
    let best: Waiter | undefined
    for (const waiter of this.#waiting) {
      if (this.isSmall(waiter.bytes) !== small) continue
      if (best === undefined || this.heldBy(waiter) < this.heldBy(best)) best = waiter
    }
    return best
  }

  private heldBy({ lease }: Waiter): number {
    return this.#owners.get(lease.owner) ?? 0
  }

  private add(lease: MemoryLease, bytes: number): void {
    this.#reserved += bytes
    this.#owners.set(lease.owner, (this.#owners.get(lease.owner) ?? 0) + bytes)
    lease.granted(bytes)
  }

  private isSmall(bytes: number): boolean {
    return bytes <= this.#capacity * SMALL_REQUEST_SHARE
  }

  private fits(bytes: number): boolean {
    return this.#reserved + bytes <= this.#capacity * (this.isSmall(bytes) ? 1 : LARGE_REQUESTS_SHARE)
  }

  private noRoom(): GatewayError {
    const { limit, noRoom } = this.#use
    return new GatewayError('unavailable', noRoom, { retryAfter: RETRY_AFTER_MS, limit, phase: 'memory' })
  }

  private tooLarge(): GatewayError {
    const { limit, tooLarge } = this.#use
    return new GatewayError('too_large', tooLarge, { limit })
  }
}

function ended(): GatewayError {
  return new GatewayError('client_gone', 'The client disconnected.', { phase: 'memory' })
}

/** Memory that one request has reserved. */
export class MemoryLease {
  readonly owner: string
  readonly #memory: Memory
  #bytes = 0
  #ended = false

  constructor(memory: Memory, owner: string) {
    this.#memory = memory
    this.owner = owner
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Whether so many more bytes can never be reserved. */
  exceeds(bytes: number): boolean {
    return this.#memory.exceeds(this.#bytes + bytes)
  }

  /**
   * Reserves more bytes; undefined if they are available at once. Throws, or rejects, with `unavailable` if they are not
   * in time, with `too_large` if they can never be, and with `client_gone` if the lease has ended.
   */
  reserve(bytes: number): Promise<void> | undefined {
    if (this.#ended) throw ended()
    return this.#memory.reserve(this, bytes)
  }

  /** Only for {@link Memory}. */
  granted(bytes: number): void {
    this.#bytes += bytes
  }

  /** Releases everything beyond so many bytes. */
  shrink(bytes: number): void {
    const over = this.#bytes - bytes
    if (over <= 0) return
    this.#bytes = bytes
    this.#memory.give(this, over)
  }

  /** Releases everything; more can be reserved later. */
  release(): void {
    this.shrink(0)
  }

  /** Releases everything for good, and stops waiting. */
  end(): void {
    this.#ended = true
    this.#memory.leave(this)
    this.release()
  }
}
