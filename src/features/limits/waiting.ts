import type { Scope } from '../../core/bounds.js'
import { FairShares } from '../../core/fair-shares.js'
import type { Cancellation } from '../../kernel/cancellation.js'
import type { Maybe } from '../../kernel/stages.js'
import type { Clock } from './clock.js'
import { type Claim, Reservation, type Shortage } from './reservation.js'

/** Requests that wait for room, of all bounds together; of what the others leave, one key takes nine tenths at most. */
const MAX_WAITERS = 4096
/** How often room is looked for that other processes give back. */
const LOOK_MS = 250

interface Waiter {
  readonly key: string
  readonly claims: readonly Claim[]
  readonly cancel: () => void
  readonly resolve: (outcome: Reservation | Shortage) => void
  /** The bound it waits for, and the line of that; undefined: it waits no more. */
  shortage: Shortage
  line: Line | undefined
}

/** Those who wait for one bound. Keys take turns; within a key it is first come, first served. */
class Line {
  readonly #waiters = new Map<string, Waiter[]>()
  isBusy = false
  /** When room is looked for again, monotonic. */
  #lookAt = Number.POSITIVE_INFINITY
  #cancelLook: (() => void) | undefined

  get isEmpty(): boolean {
    return this.#waiters.size === 0
  }

  get first(): Waiter | undefined {
    for (const [waiter] of this.#waiters.values()) return waiter
    return undefined
  }

  add(waiter: Waiter): void {
    const known = this.#waiters.get(waiter.key)
    if (known === undefined) this.#waiters.set(waiter.key, [waiter])
    else known.push(waiter)
  }

  /** Looks again after some time, unless that happens before. */
  lookIn(milliseconds: number, clock: Clock, look: () => void): void {
    const at = clock.monotonic() + milliseconds
    if (at >= this.#lookAt) return
    this.#cancelLook?.()
    this.#lookAt = at
    this.#cancelLook = clock.after(milliseconds, () => {
      this.#lookAt = Number.POSITIVE_INFINITY
      look()
    })
  }

  stop(): void {
    this.#cancelLook?.()
  }

  /** `servedLast`: its key is behind all others now. */
  remove(waiter: Waiter, servedLast: boolean): void {
    const waiters = this.#waiters.get(waiter.key) ?? []
    const index = waiters.indexOf(waiter)
    if (index >= 0) waiters.splice(index, 1)
    if (waiters.length > 0 && !servedLast) return
    this.#waiters.delete(waiter.key)
    if (waiters.length > 0) this.#waiters.set(waiter.key, waiters)
  }
}

/** Requests that wait for room instead of being refused: a line for each bound. */
export class WaitingRoom {
  readonly #clock: Clock
  readonly #reserve: (claims: readonly Claim[]) => Maybe<Reservation | Shortage>
  readonly #giveBack: (reservation: Reservation) => void
  readonly #lines = new Map<string, Line>()
  readonly #shares = new FairShares(MAX_WAITERS)

  constructor(
    clock: Clock,
    reserve: (claims: readonly Claim[]) => Maybe<Reservation | Shortage>,
    giveBack: (reservation: Reservation) => void,
  ) {
    this.#clock = clock
    this.#reserve = reserve
    this.#giveBack = giveBack
  }

  get isEmpty(): boolean {
    return this.#lines.size === 0
  }

  /**
   * Resolves with what was reserved, or with the shortage: after so many milliseconds, when it is cancelled, or at once where it is
   * of a scope that does not queue.
   */
  async wait(
    key: string,
    claims: readonly Claim[],
    milliseconds: number,
    cancellation?: Cancellation,
  ): Promise<Reservation | Shortage> {
    // Who comes later does not overtake those who wait for the same bound.
    const ahead = this.isEmpty ? undefined : this.#ahead(claims)
    const outcome = ahead ?? (await this.#reserve(claims))
    if (outcome instanceof Reservation || !mayQueue(outcome) || !this.#shares.take(key)) return outcome
    return new Promise(resolve => {
      const cancel = this.#clock.after(milliseconds, () => this.#end(waiter, waiter.shortage))
      const waiter: Waiter = { key, claims, cancel, resolve, shortage: outcome, line: undefined }
      this.#join(waiter)
      cancellation?.add({ cancel: () => waiter.line !== undefined && this.#end(waiter, waiter.shortage) })
    })
  }

  /** There may be room. Who takes it again in this turn, such as the task that a request begins, is before those who wait. */
  look(): void {
    queueMicrotask(() => {
      for (const line of this.#lines.values()) void this.#serve(line)
    })
  }

  /** All of them hear the shortage at once. */
  close(): void {
    for (const line of this.#lines.values())
      for (let { first } = line; first !== undefined; { first } = line) this.#end(first, first.shortage)
  }

  #ahead(claims: readonly Claim[]): Shortage | undefined {
    for (const { scopes } of claims)
      for (const scope of scopes) {
        const first = this.#lines.get(nameOf(scope))?.first
        if (first !== undefined) return first.shortage
      }
    return undefined
  }

  #join(waiter: Waiter): void {
    const name = nameOf(waiter.shortage.scope)
    const line = this.#lines.get(name) ?? new Line()
    this.#lines.set(name, line)
    waiter.line = line
    line.add(waiter)
    this.#lookAgain(line, waiter.shortage)
  }

  async #serve(line: Line): Promise<void> {
    if (line.isBusy) return
    line.isBusy = true
    for (let waiter = line.first; waiter !== undefined; waiter = line.first) {
      const outcome = await this.#reserve(waiter.claims)
      if (waiter.line === undefined) {
        if (outcome instanceof Reservation) this.#giveBack(outcome)
      } else if (outcome instanceof Reservation || !mayQueue(outcome)) this.#end(waiter, outcome)
      else {
        waiter.shortage = outcome
        if (this.#lines.get(nameOf(outcome.scope)) === line) {
          this.#lookAgain(line, outcome)
          break
        }
        line.remove(waiter, false)
        this.#join(waiter)
      }
    }
    line.isBusy = false
    this.#forget()
  }

  #lookAgain(line: Line, { retryAfterMs = LOOK_MS }: Shortage): void {
    line.lookIn(Math.min(retryAfterMs, LOOK_MS), this.#clock, () => void this.#serve(line))
  }

  #end(waiter: Waiter, outcome: Reservation | Shortage): void {
    waiter.line?.remove(waiter, outcome instanceof Reservation)
    waiter.line = undefined
    waiter.cancel()
    this.#shares.release(waiter.key)
    waiter.resolve(outcome)
    this.#forget()
  }

  #forget(): void {
    for (const [name, line] of this.#lines) {
      if (!line.isEmpty || line.isBusy) continue
      line.stop()
      this.#lines.delete(name)
    }
  }
}

function nameOf({ type, name }: Scope): string {
  return `${type}:${name}`
}

/** Whether waiting may help: the bound has room again some time, and its scope lets requests queue for it. */
function mayQueue({ scope, unit, retryAfterMs }: Shortage): boolean {
  return retryAfterMs !== undefined && scope.limits.queue !== undefined && unit !== 'store'
}
