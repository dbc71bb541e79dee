import { randomUUID } from 'node:crypto'
import type { Accounts, LeaseChange, LeaseState } from '../../core/accounts.js'
import { type Account, FORGETS_MS, PACE_MS } from './account.js'
import { type Clock, SteadyClock } from './clock.js'
import { commitOfFlight, type Flight, isEmpty, isRefused, LEASE_MS, type Transfer } from './flight.js'
import { IDLE_MS } from './holdings.js'
import { leaseSize } from './lease-size.js'
import type { Line } from './ledger-entry.js'
import { amountOf, type Reservation } from './reservation.js'
import { Batch, MAX_CHANGES, MAX_SETTLED } from './settled-batch.js'

/** A process stops to use its lease so long before it ends: the clocks of processes may differ by as much. */
const MARGIN_MS = 10_000
/** Requests wait for the store so long; then each scope says whether they pass. */
const PATIENCE_MS = 2000
/** A commit without an answer is repeated after this time. */
const TIMEOUT_MS = 10_000
/** How long the end of a process waits for a store that does not answer. */
const CLOSING_MS = 5000
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 1000
/** Of one commit: each of them changes two leases of each of its accounts. */
const MAX_TRANSFERS = 8
/** So many commits may follow each other at once after a pause: requests that come one by one do not wait for the pace. */
const MAX_BURST = 20
/** Where so many answers wait, they share the cost of a commit, and it does not wait for the pace, which spares a fleet's store. */
const MANY_ANSWERS = { shared: 24, local: 1 } as const
/** Records that wait for the store. When there are as many, budgets refuse, and what else passes has no record. */
const MAX_WAITING = 50_000

interface Options {
  readonly clock: Clock
  readonly isShared: boolean
  /** Whether only this machine uses the store. */
  readonly isLocal: boolean
  readonly onFault: (error: unknown) => void
  /** The store has answered the commit of this number, or, undefined, does not answer. */
  readonly onAnswer: (number: number | undefined) => void
}

/**
 * Writes what was settled, and takes and renews leases: one commit at a time. One whose outcome is not known is repeated
 * with the same number until it is known, so nothing is written twice.
 */
export class Committer {
  readonly #store: Accounts
  readonly #options: Options
  readonly #clock: Clock
  readonly #steady: SteadyClock
  readonly #manyAnswers: number
  /** The name of all its leases, too. */
  readonly writer: string = randomUUID()
  #number = 0
  #flight: Flight | undefined
  /** From when on commits are at the pace again: each that begins takes one step of it. */
  #paced = Number.NEGATIVE_INFINITY
  #cancelNext: (() => void) | undefined
  #cancelPatience: (() => void) | undefined
  #cancelShort: (() => void) | undefined
  #dirty: Account[] = []
  /** Accounts of short windows that hold more than is used. */
  #short: Account[] = []
  /** What is settled, and in no commit yet: the last one takes more. */
  #batches: Batch[] = []
  #waitingEntries = 0
  #transfers: Transfer[] = []
  /** Counts of settled reservations, and those who wait for them to be written. */
  #taken = 0
  #written = 0
  #flushers: { readonly count: number; readonly done: () => void }[] = []
  /** Records that found no room. */
  #lost = 0
  #closing = false
  #stopped = false
  /** Whether the store does not answer. */
  isFailing = false

  constructor(store: Accounts, options: Options) {
    this.#store = store
    this.#options = options
    this.#clock = options.clock
    this.#steady = new SteadyClock(options.clock)
    this.#manyAnswers = options.isLocal ? MANY_ANSWERS.local : MANY_ANSWERS.shared
  }

  /** Whether no more can wait for the store. */
  get isFull(): boolean {
    return this.#waitingEntries >= MAX_WAITING
  }

  /** The number of the next commit that is put together. */
  get next(): number {
    return this.#number + 1
  }

  /** Milliseconds since the epoch, as all processes of the store should see them. */
  now(): number {
    return this.#steady.now()
  }

  /** The next commit contains the account. */
  mark(account: Account): void {
    if (account.dirty) return
    account.dirty = true
    this.#dirty.push(account)
    this.#wake()
  }

  /** Writes what a reservation used, together with its records. */
  add(reservation: Reservation, lines: readonly Line[] = []): void {
    const isLost = lines.length > 0 && this.isFull && !reservation.accounts.some(({ unit }) => unit === 'budget')
    if (isLost) this.#lost++
    else if (lines.length > 0) {
      for (const line of lines) this.#addLine(line)
      this.#wake()
      return
    }
    for (const { accounts, amounts } of reservation.parts)
      for (const account of accounts) {
        const amount = amountOf(amounts, account.unit)
        if (amount === 0) continue
        account.loose += amount
        this.mark(account)
      }
  }

  #addLine(line: Line): void {
    let batch = this.#batches.at(-1)
    if (batch === undefined || batch.isFull) {
      batch = new Batch()
      this.#batches.push(batch)
    }
    batch.add(line)
    this.#waitingEntries++
  }

  transfer(transfer: Transfer): void {
    if ((this.isFailing || this.#closing) && !isEmpty(transfer)) {
      transfer.done('withdrawn')
      return
    }
    this.#transfers.push(transfer)
    this.#wake()
  }

  /** Resolves when everything settled so far is in the store, or the store does not answer. */
  flushed(): Promise<void> | undefined {
    const count = this.#taken + this.#waitingEntries
    if (count === this.#written || this.isFailing) return undefined
    return new Promise(done => {
      this.#flushers.push({ count, done })
      if (this.#flushers.length === this.#manyAnswers) this.#hasten()
    })
  }

  /** Writes everything and gives all leases of the accounts back, unless the store does not answer for some seconds. */
  async close(accounts: Iterable<Account>): Promise<void> {
    this.#closing = true
    for (const account of accounts) if (account.lease > 0) this.mark(account)
    const end = this.#clock.monotonic() + CLOSING_MS
    const cancel = this.#clock.after(CLOSING_MS, () => this.#flush(Number.POSITIVE_INFINITY))
    while ((this.#flight !== undefined || this.#waits) && this.#clock.monotonic() < end) {
      const answered = new Promise<void>(done => this.#flushers.push({ count: Number.POSITIVE_INFINITY, done }))
      this.#send()
      await answered
    }
    cancel()
    this.#stop()
  }

  #stop(): void {
    this.#stopped = true
    this.#cancelNext?.()
    this.#cancelPatience?.()
    this.#cancelShort?.()
  }

  #wake(): void {
    if (this.#flight !== undefined || this.#cancelNext !== undefined || this.#closing) return
    const isMuch = this.#waitingEntries >= MAX_SETTLED || this.#dirty.length >= MAX_CHANGES
    if (isMuch || this.#flushers.length >= this.#manyAnswers) {
      this.#hasten()
      return
    }
    const wait = this.#paced - MAX_BURST * PACE_MS - this.#clock.monotonic()
    // What else is settled in this turn of the event loop goes along.
    this.#cancelNext = wait > 0 ? this.#clock.after(wait, this.#send) : () => {}
    if (wait <= 0) queueMicrotask(this.#send)
  }

  /** The next commit begins with the next turn of the event loop. */
  #hasten(): void {
    if (this.#flight !== undefined || this.#closing) return
    this.#cancelNext?.()
    this.#cancelNext = this.#clock.after(0, this.#send)
  }

  readonly #send = (): void => {
    if (this.#flight !== undefined || this.#stopped) return
    this.#cancelNext?.()
    this.#cancelNext = undefined
    const flight = this.#build()
    if (flight === undefined) return
    this.#flight = flight
    // One that did not wait for the pace takes no more of it than one that did.
    this.#paced = Math.min(Math.max(this.#paced, flight.sent), flight.sent + MAX_BURST * PACE_MS) + PACE_MS
    void this.#try(flight)
  }

  async #try(flight: Flight): Promise<void> {
    if (this.#stopped) return
    this.#cancelPatience = this.#clock.after(PATIENCE_MS, () => this.#fail())
    const commit = commitOfFlight(flight, this.writer, this.now())
    let answer: readonly LeaseState[]
    try {
      answer = await this.#withTimeout(this.#store.commit(commit))
    } catch (error) {
      this.#cancelPatience()
      this.#options.onFault(error)
      this.#fail()
      if (this.#stopped) return
      if (isRefused(commit)) {
        this.#drop(flight)
        return
      }
      this.#cancelNext = this.#clock.after(flight.retryMs, () => {
        this.#cancelNext = undefined
        void this.#try(flight)
      })
      flight.retryMs = Math.min(LAST_RETRY_MS, flight.retryMs * 2)
      return
    }
    this.#cancelPatience()
    this.#land(flight, answer)
  }

  #withTimeout<T>(answer: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const cancel = this.#clock.after(TIMEOUT_MS, () => reject(new Error('the store does not answer a commit')))
      answer.then(resolve, reject).finally(cancel)
    })
  }

  #build(): Flight | undefined {
    const accounts: Account[] = []
    const include = (account: Account): void => {
      if (account.flying) return
      account.flying = true
      account.sent = account.loose
      account.loose = 0
      accounts.push(account)
    }
    const transfers = this.#transfers.splice(0, MAX_TRANSFERS)
    for (const transfer of transfers) if (!isEmpty(transfer)) transfer.reservation.accounts.forEach(include)
    const batch = this.#batches.shift()
    batch?.accounts.forEach((account, at) => {
      include(account)
      account.sent += batch.amounts[at] as number
    })
    const { runs = [], size: settled = 0 } = batch ?? {}
    this.#waitingEntries -= settled
    this.#taken += settled
    // Requests may wait for them: a row of full batches must not keep them back.
    const marked = this.#dirty.splice(0, Math.max(MAX_CHANGES / 2, MAX_CHANGES - accounts.length))
    for (const account of marked) {
      account.dirty = false
      include(account)
    }
    if (accounts.length + settled + transfers.length === 0) return undefined
    this.#number++
    const sent = this.#clock.monotonic()
    const moved = new Map<Account, number>()
    for (const { reservation } of transfers)
      reservation.accounts.forEach((account, at) => {
        const amount = reservation.amounts[at] as number
        moved.set(account, (moved.get(account) ?? 0) + amount)
      })
    const leases = accounts.map(account => this.#change(account, sent, moved.get(account) ?? 0))
    return { number: this.#number, accounts, leases, transfers, runs, settled, sent, retryMs: FIRST_RETRY_MS }
  }

  #change(account: Account, monotonic: number, moved: number): Omit<LeaseChange, 'until' | 'expires'> {
    if (monotonic >= account.leaseEnd) account.lease = 0
    account.used -= account.sent
    account.foresee(monotonic)
    const { isShared } = this.#options
    const isIdle = monotonic - account.touched >= IDLE_MS && (isShared || account.leaving)
    account.leaving = false
    const left = Math.max(0, account.lease - account.sent)
    let hold = this.#closing ? 0 : leaseSize(account, { isShared, isIdle })
    if (moved > 0) {
      account.reserved -= moved
      hold = Math.max(0, Math.min(hold, left) - moved)
    }
    // What is given back is no longer used, what is asked for not yet.
    account.lease = Math.min(left, hold)
    const spend = Math.min(Number.MAX_SAFE_INTEGER, account.sent)
    return { account: account.name, bound: account.bound, lease: this.writer, spend, hold }
  }

  /** Gives up a commit that no store takes, with its entries. */
  #drop(flight: Flight): void {
    this.#flight = undefined
    this.isFailing = false
    for (const account of flight.accounts) {
      account.flying = false
      account.sent = 0
    }
    const { settled } = flight
    if (settled > 0)
      this.#options.onFault(new Error(`${settled} entries of the ledger are lost: no store takes their commit`))
    this.#written += settled
    if (this.#waits) this.#wake()
  }

  #land(flight: Flight, answer: readonly LeaseState[]): void {
    if (this.#lost > 0)
      this.#options.onFault(new Error(`${this.#lost} entries of the ledger are lost: too many waited`))
    this.#lost = 0
    this.#flight = undefined
    this.isFailing = false
    flight.accounts.forEach((account, at) => {
      const state = answer[at] as LeaseState
      account.flying = false
      account.sent = 0
      account.spent = state.spent
      account.others = Math.max(0, state.held - state.lease)
      account.granted = state.lease
      account.lease = Math.min(state.lease, Math.max(0, account.bound - state.spent))
      account.isScarce = state.lease < (flight.leases[at]?.hold ?? 0)
      account.leaseEnd = flight.sent + LEASE_MS - MARGIN_MS
      account.heard = flight.number
      const isUnused = account.isShort && account.lease > account.reserved + account.used
      if (this.#options.isShared && isUnused) this.#short.push(account)
    })
    this.#giveBackSoon()
    let at = flight.accounts.length
    for (const { reservation, done } of flight.transfers) {
      const granted = answer.slice(at, at + reservation.accounts.length)
      at += reservation.accounts.length
      const isWhole = granted.every(({ lease }, index) => lease >= (reservation.amounts[index] as number))
      done(isWhole ? 'held' : 'partly')
    }
    this.#written += flight.settled
    this.#flush(this.#written)
    this.#options.onAnswer(flight.number)
    if (this.#waits) this.#wake()
  }

  /** Windows of a second are over before what is unused of them counts as idle. */
  #giveBackSoon(): void {
    if (this.#short.length === 0 || this.#cancelShort !== undefined || this.#closing) return
    this.#cancelShort = this.#clock.after(FORGETS_MS, () => {
      this.#cancelShort = undefined
      const now = this.#clock.now()
      for (const account of this.#short.splice(0)) if (!account.gone && now < account.span.end) this.mark(account)
    })
  }

  get #waits(): boolean {
    return this.#waitingEntries + this.#dirty.length + this.#transfers.length > 0
  }

  #fail(): void {
    this.isFailing = true
    for (const { done } of this.#flight?.transfers ?? []) done('unknown')
    const transfers = this.#transfers
    this.#transfers = transfers.filter(isEmpty)
    for (const transfer of transfers) if (!isEmpty(transfer)) transfer.done('withdrawn')
    this.#flush(Number.POSITIVE_INFINITY)
    this.#options.onAnswer(undefined)
  }

  #flush(count: number): void {
    const flushers = this.#flushers
    this.#flushers = this.#closing ? [] : flushers.filter(flusher => flusher.count > count)
    for (const flusher of flushers) if (this.#closing || flusher.count <= count) flusher.done()
  }
}
