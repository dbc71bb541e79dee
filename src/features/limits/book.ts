import type { Accounts } from '../../core/accounts.js'
import type { Scope } from '../../core/bounds.js'
import { ALONE, type Peers } from '../../core/peers.js'
import type { Cancellation } from '../../kernel/cancellation.js'
import type { Maybe } from '../../kernel/stages.js'
import type { Account } from './account.js'
import { type Asker, type Lack, setAside } from './asker.js'
import { type Clock, SYSTEM_CLOCK } from './clock.js'
import { Committer } from './committer.js'
import { Estate } from './estate.js'
import { REMEMBERED_MS, type Transferred } from './flight.js'
import { Holdings, type ScopeOf } from './holdings.js'
import { linesOf, makeEntries, type Uncharged } from './ledger-entry.js'
import {
  type Amounts,
  amountOf,
  type Claim,
  claimOf,
  type Meter,
  type Part,
  Reservation,
  type Shortage,
} from './reservation.js'
import { awayOf, isClosed, shortageOf } from './shortage.js'
import { type Standing, standingHere, tightestOf } from './standing.js'
import { WaitingRoom } from './waiting.js'

interface BookOptions {
  readonly clock?: Clock
  /** Whether other processes use the store, too. Otherwise leases hold all that is left. */
  readonly isShared: boolean
  /** Whether only this machine uses the store, so that answers need not share its commits. */
  readonly isLocal?: boolean
  /** Whether what is settled outlives the process. */
  readonly isDurable: boolean
  /** Called for each commit that failed; it is repeated. */
  readonly onFault: (error: unknown) => void
  /** The other workers of the gateway. */
  readonly peers?: Peers
}

/** How often one request asks the store, when windows turn meanwhile. */
const MAX_ROUNDS = 3

/**
 * The bounds of all scopes as this process sees them: reserves before something is done, settles what was used. A request is
 * decided at once while the leases that the process holds suffice. A reservation belongs to the windows in which it was made
 * and is settled there, however late.
 */
export class Book {
  readonly #store: Accounts
  readonly #clock: Clock
  readonly #isDurable: boolean
  readonly #isShared: boolean
  readonly #committer: Committer
  readonly #holdings: Holdings
  readonly #estate: Estate | undefined
  readonly #waiting: WaitingRoom
  #askers: Asker[] = []
  /** By id, what is on its way to the store. */
  readonly #holding = new Map<string, Promise<unknown>>()
  #closed = false

  constructor(store: Accounts, options: BookOptions) {
    const { clock = SYSTEM_CLOCK, isShared, isLocal = false, isDurable, onFault, peers = ALONE } = options
    this.#store = store
    this.#clock = clock
    this.#isDurable = isDurable
    this.#isShared = isShared
    const onAnswer = (number: number | undefined): void => this.#answer(number)
    this.#committer = new Committer(store, { clock, isShared, isLocal, onFault, onAnswer })
    this.#estate = peers.number === 0 ? undefined : new Estate(peers, this.#committer.writer)
    this.#holdings = new Holdings(clock, isShared, account => this.#committer.mark(account), this.#estate)
    this.#waiting = new WaitingRoom(
      clock,
      claims => this.reserve(claims),
      reservation => this.settle(reservation),
    )
  }

  /** Accounts that this process knows. */
  get known(): number {
    return this.#holdings.accounts.size
  }

  /**
   * All or nothing over all bounds of all claims; without a promise while what this process holds suffices. Rates and
   * budgets are charged when it is settled; places (`in_flight`, `streams`) are free again then.
   */
  reserve(claims: readonly Claim[]): Maybe<Reservation | Shortage> {
    return this.#reserve(claims, 1)
  }

  /**
   * Replaces what was reserved by what was used, once, and writes the record. Only accounts of the reservation are charged,
   * each with the amount of its unit. Without `used` all of it is given back. Later calls do nothing.
   */
  settle(reservation: Reservation, used: Amounts = {}, record?: Uncharged): void {
    if (!reservation.isOpen) return
    this.charge(reservation, used)
    this.write(reservation, record)
  }

  /** The first half of {@link settle}: others may reserve what is free again. */
  charge(reservation: Reservation, used: Amounts = {}): void {
    if (!reservation.isOpen) return
    reservation.charge(used)
    if (this.#isShared) this.#giveBack(reservation)
    if (!this.#waiting.isEmpty) this.#waiting.look()
  }

  /** The second half, once: what was charged goes to the store, with its record. */
  write(reservation: Reservation, record?: Uncharged): void {
    if (record !== undefined) this.#committer.add(reservation, linesOf(record, reservation))
    else if (reservation.isCharged) this.#committer.add(reservation)
  }

  /**
   * Reserves more for what runs on: the units that each claim of the reservation has, in the windows that hold now. A
   * shortage leaves the reservation as it was.
   */
  extend(reservation: Reservation, more: Amounts): Maybe<Shortage | undefined> {
    const claims = reservation.claims.map(({ scopes, amounts }) => claimOf(scopes, common(more, amounts)))
    const outcome = this.#reserve(claims, 1)
    return outcome instanceof Promise
      ? outcome.then(found => this.#join(reservation, found))
      : this.#join(reservation, outcome)
  }

  /**
   * Waits for room of scopes that queue, at most so many milliseconds: resolves with the shortage then, when it is cancelled, or
   * at once where a scope that does not queue has none. Keys take turns.
   */
  wait(
    key: string,
    claims: readonly Claim[],
    milliseconds: number,
    cancellation?: Cancellation,
  ): Promise<Reservation | Shortage> {
    return this.#waiting.wait(key, claims, milliseconds, cancellation)
  }

  /** Whether what is settled outlives the process, so that answers wait for it. */
  get isDurable(): boolean {
    return this.#isDurable
  }

  /** Resolves when what was settled so far is in the store, or the store does not answer; undefined: nothing to wait for. */
  flushed(): Promise<void> | undefined {
    return this.#isDurable ? this.#committer.flushed() : undefined
  }

  /** For tests: what this process knows of all bounds, without asking the store. */
  standing(scopes: readonly Scope[]): readonly Standing[] {
    const now = this.#clock.now()
    return this.#metersOf(scopes).map(meter => standingHere(meter, this.#holdings.current(meter, now)))
  }

  /** Of the bounds of one unit, the account that has least room by what this process knows. `now`: milliseconds since the epoch. */
  tightest(scopes: readonly Scope[], unit: Meter['unit'], now: number): Account | undefined {
    return tightestOf(this.#holdings, scopes, unit, now)
  }

  /** The same with what the store says now. What a commit changes meanwhile is as the commit said. */
  async read(scopes: readonly Scope[]): Promise<readonly Standing[]> {
    const now = this.#clock.now()
    const meters = this.#metersOf(scopes)
    for (let round = 1; ; round++) {
      const accounts = meters.map(meter => this.#holdings.current(meter, now))
      const heard = accounts.map(account => (account.flying ? undefined : account.heard))
      const names = accounts.map(({ name }) => name)
      const tallies = await this.#store.read(names, this.#committer.now())
      const isQuiet = accounts.map((account, at) => !account.flying && account.heard === heard[at])
      if (isQuiet.includes(false) && round < MAX_ROUNDS) {
        await this.#committer.flushed()
        continue
      }
      return meters.map((meter, at) => {
        const account = accounts[at] as Account
        const tally = tallies[at]
        if (tally !== undefined && isQuiet[at] === true) account.learn(tally)
        return standingHere(meter, account)
      })
    }
  }

  /**
   * Reserves for something that outlives the process, such as a task: the store keeps it under the id until `until`
   * (milliseconds since the epoch), in the windows that hold now.
   */
  hold(id: string, claims: readonly Claim[], until: number): Promise<Shortage | undefined> {
    const held = this.#hold(id, claims, until).finally(() => this.#holding.delete(id))
    this.#holding.set(id, held)
    return held
  }

  async #hold(id: string, claims: readonly Claim[], until: number): Promise<Shortage | undefined> {
    const outcome = await this.reserve(claims)
    if (!(outcome instanceof Reservation)) return outcome
    if (outcome.amounts.every(amount => amount === 0)) return undefined
    const transferred = await this.#transfer(outcome, id, until)
    if (transferred === 'held') return undefined
    if (transferred === 'withdrawn') this.settle(outcome)
    const isFull = transferred === 'partly'
    const meter = outcome.meters.find(meter => isFull || isClosed(meter))
    // Scopes that are open let it pass: what it uses is charged when it is settled.
    if (meter === undefined) return undefined
    if (transferred !== 'withdrawn') void this.#transfer(outcome.withNothing(), id, until)
    return isFull
      ? shortageOf(meter, outcome.accounts[0] as Account, outcome.amounts[0] as number, this.#clock.now())
      : awayOf(meter)
  }

  #transfer(reservation: Reservation, id: string, until: number): Promise<Transferred> {
    return new Promise(done => this.#committer.transfer({ lease: `task/${id}`, until, reservation, done }))
  }

  /**
   * Settles what was held, whichever process held it: once for each `at`, however often it is called. `at`: when it was held,
   * which says the windows. Rejects with the store's error; call it again then.
   */
  async settleHeld(
    id: string,
    claims: readonly Claim[],
    { at, used, record }: { readonly at: number; readonly used: Amounts; readonly record?: Uncharged },
  ): Promise<void> {
    // What ends at once is settled after it was held: nothing would give back what is held later.
    await this.#holding.get(id)?.catch(() => undefined)
    const now = this.#committer.now()
    const charges: string[] = []
    const leases = claims.flatMap(({ scopes, amounts }) =>
      this.#metersOf(scopes).flatMap(meter => {
        if (amounts[meter.unit] === undefined) return []
        const account = this.#holdings.nameAt(meter, at)
        const amount = Math.min(Number.MAX_SAFE_INTEGER, used[meter.unit] ?? 0)
        const spend = meter.window === undefined ? 0 : amount
        if (meter.unit === 'budget' && spend > 0) charges.push(`${JSON.stringify(account)}:${spend}`)
        const expires = now + REMEMBERED_MS
        return [{ account, expires, bound: meter.amount, lease: `task/${id}`, spend, hold: 0, until: now }]
      }),
    )
    const entries = record === undefined ? [] : makeEntries(record, charges)
    // What was given up, and settled, may be held anew: its upstream accepted it later.
    await this.#store.commit({
      ...{ writer: `task/${id}.${at}`, number: 1, remembered: now + REMEMBERED_MS, now, leases, entries },
    })
  }

  /** A reload: windows of this time zone, and the bounds of these scopes, from now on. Those that left are forgotten when they are idle. */
  adopt(timeZone: string, scopeOf: ScopeOf = () => undefined): void {
    this.#holdings.adopt(timeZone, scopeOf)
  }

  /** Writes everything and gives all leases back, if the store answers. */
  async close(): Promise<void> {
    this.#closed = true
    this.#waiting.close()
    this.#holdings.stop()
    await this.#committer.close(this.#holdings.accounts.values())
    this.#estate?.close()
    this.#answer(undefined)
  }

  #metersOf(scopes: readonly Scope[]): readonly Meter[] {
    return this.#holdings.metersOfAll(scopes)
  }

  #reserve(claims: readonly Claim[], round: number): Maybe<Reservation | Shortage> {
    const draft = this.#draft(claims)
    const monotonic = this.#clock.monotonic()
    for (const { accounts, amounts } of draft.parts)
      for (const account of accounts)
        if (!account.covers(amountOf(amounts, account.unit), monotonic)) return this.#lacking(draft, monotonic, round)
    if (this.#committer.isFull) return this.#full(draft) ?? this.#take(draft, monotonic)
    return this.#take(draft, monotonic)
  }

  #draft(claims: readonly Claim[]): Reservation {
    const now = this.#clock.now()
    const only = claims.length === 1 ? claims[0] : undefined
    return new Reservation(claims, only === undefined ? this.#parts(claims, now) : [this.#part(only, now)])
  }

  #parts(claims: readonly Claim[], now: number): readonly Part[] {
    return claims.map(claim => this.#part(claim, now))
  }

  #part({ scopes, units, whole }: Claim, now: number): Part {
    const list = this.#holdings.listOf(scopes, units)
    return { meters: list.meters, accounts: this.#holdings.accountsOf(list, now), amounts: whole }
  }

  #take(draft: Reservation, monotonic: number): Reservation {
    for (const { accounts, amounts } of draft.parts)
      for (const account of accounts) {
        const amount = amountOf(amounts, account.unit)
        account.reserved += amount
        account.taken += amount
        account.typical = amount
        account.touched = monotonic
      }
    return draft
  }

  /** Where the lease of at least one account does not suffice. */
  #lacking(draft: Reservation, monotonic: number, round: number): Maybe<Reservation | Shortage> {
    const lacks: Lack[] = []
    for (const { meters, accounts, amounts } of draft.parts)
      for (const [at, account] of accounts.entries()) {
        const meter = meters[at] as Meter
        const amount = amountOf(amounts, account.unit)
        account.touched = monotonic
        if (account.covers(amount, monotonic)) continue
        if (!account.allows(amount)) return shortageOf(meter, account, amount, this.#clock.now())
        lacks.push({ meter, account, amount })
      }
    if (this.#closed || this.#committer.isFailing) {
      const closed = lacks.find(({ meter }) => this.#closed || isClosed(meter))
      return closed === undefined ? this.#take(draft, monotonic) : awayOf(closed.meter)
    }
    const [first] = lacks
    if (round > MAX_ROUNDS && first !== undefined)
      return shortageOf(first.meter, first.account, first.amount, this.#clock.now())
    return new Promise(resolve => this.#ask({ draft, lacks, round, commit: this.#committer.next, resolve }))
  }

  #ask(asker: Asker): void {
    this.#askers.push(asker)
    setAside(asker, 1)
    for (const { account, amount } of asker.lacks) account.typical = amount
    // Other bounds of these scopes are asked about in the same commit: the stages that follow will need them.
    const [now, monotonic] = [this.#clock.now(), this.#clock.monotonic()]
    for (const { scopes } of asker.draft.claims)
      for (const meter of this.#metersOf(scopes)) {
        const account = this.#holdings.current(meter, now)
        if (account.asked > 0 || !account.covers(account.typical, monotonic)) this.#committer.mark(account)
      }
  }

  /** `number`: of the commit that the store has answered; undefined: it does not answer. */
  #answer(number: number | undefined): void {
    const askers = this.#askers
    const isAnswered = ({ commit }: Asker): boolean => number === undefined || commit <= number
    this.#askers = askers.filter(asker => !isAnswered(asker))
    const answered = askers.filter(isAnswered)
    for (const asker of answered) setAside(asker, -1)
    for (const asker of answered) {
      const outcome = this.#again(asker, number)
      if (outcome instanceof Promise || outcome instanceof Reservation) asker.resolve(outcome)
      else this.#refuse(asker, outcome)
    }
    if (!this.#waiting.isEmpty) this.#waiting.look()
  }

  #again({ draft, lacks, round, commit }: Asker, number: number | undefined): Maybe<Reservation | Shortage> {
    const monotonic = this.#clock.monotonic()
    const refused = lacks.find(({ account, amount }) => account.isRefused(amount, number, monotonic))
    if (refused !== undefined) return shortageOf(refused.meter, refused.account, refused.amount, this.#clock.now())
    // A commit that was full did not ask for all of it.
    const wasAsked = lacks.every(({ account }) => account.gone || account.heard >= commit)
    return this.#reserve(draft.claims, wasAsked ? round + 1 : round)
  }

  /** What it was granted of other bounds goes back: another process may hold what it lacks, and lack just that. */
  #refuse({ draft, resolve }: Asker, shortage: Shortage): void {
    const now = this.#clock.now()
    for (const { scopes } of draft.claims)
      for (const meter of this.#metersOf(scopes)) {
        const account = this.#holdings.current(meter, now)
        if (account.lease > account.reserved + account.used) this.#committer.mark(account)
      }
    resolve(shortage)
  }

  /** Places that are free again and will not be taken soon: other processes may need them. */
  #giveBack({ parts }: Reservation): void {
    for (const { accounts } of parts)
      for (const account of accounts)
        if (account.isPlace && account.lease > account.reserved + 2 * account.ahead) this.#committer.mark(account)
  }

  #full(draft: Reservation): Shortage | undefined {
    const meter = draft.meters.find(({ unit }) => unit === 'budget')
    return meter === undefined ? undefined : awayOf(meter)
  }

  #join(reservation: Reservation, outcome: Reservation | Shortage): Shortage | undefined {
    if (!(outcome instanceof Reservation)) return outcome
    if (reservation.isOpen) reservation.join(outcome)
    else this.settle(outcome)
    return undefined
  }
}

function common(more: Amounts, { ...amounts }: Amounts): Amounts {
  const units = Object.keys(amounts) as (keyof Amounts)[]
  return Object.fromEntries(units.filter(unit => more[unit] !== undefined).map(unit => [unit, more[unit]]))
}
