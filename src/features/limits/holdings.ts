import type { Scope, ScopeType } from '../../core/bounds.js'
import { Account, accountName } from './account.js'
import type { Clock } from './clock.js'
import type { Estate } from './estate.js'
import { type Meter, UNITS } from './reservation.js'
import { Windows } from './windows.js'

/** Accounts over this number are given back and forgotten when they were not used for a second. */
const MAX_ACCOUNTS = 65_536
/** What was not used for so long is given back. */
export const IDLE_MS = 1000
/** A lease that is in use is renewed when no more is left of its time. */
const RENEW_MS = 25_000

/** Meters of a list of scopes, with their accounts: the same object for all requests that ask for these units of it. */
interface MeterList {
  readonly meters: readonly Meter[]
  /** Of the windows that hold `from` a moment up to and without `until`, milliseconds since the epoch. */
  accounts: readonly Account[]
  from: number
  until: number
  /** The sweep that it has outlived: those that forget accounts may have forgotten one of these. */
  sweep: number
}

/** What the plan that serves says of a holder; undefined: nothing. */
export type ScopeOf = (type: ScopeType, name: string) => Scope | undefined

/** All that are known for a list of scopes. */
interface ScopeLists {
  readonly scopes: readonly Scope[]
  readonly byUnits: (MeterList | undefined)[]
}

const NO_LISTS: ScopeLists = { scopes: [], byUnits: [] }

const ALL_UNITS = 31

/** The accounts that this process knows, and the meters of the scopes that lead to them. */
export class Holdings {
  readonly #clock: Clock
  readonly #isShared: boolean
  /** Called with accounts that the next commit is to renew or give back. */
  readonly #mark: (account: Account) => void
  /** Absent in a process without a supervisor. */
  readonly #estate: Estate | undefined
  #windows = new Windows('UTC')
  #serving: ScopeOf = () => undefined
  #meters = new WeakMap<Scope, readonly Meter[]>()
  #lists = new WeakMap<readonly Scope[], ScopeLists>()
  /** Those of the last list of scopes and the one before: a request asks for all scopes, and for those that spend, in turn. */
  #last = NO_LISTS
  #before = NO_LISTS
  readonly accounts = new Map<string, Account>()
  #cancelSweep: (() => void) | undefined
  /** Those that have forgotten an account. */
  #sweeps = 0

  constructor(clock: Clock, isShared: boolean, mark: (account: Account) => void, estate?: Estate) {
    this.#clock = clock
    this.#estate = estate
    this.#isShared = isShared
    this.#mark = mark
  }

  /** Windows of this time zone, and the bounds of these scopes, from now on. What is reserved stays where it is. */
  adopt(timeZone: string, scopeOf: ScopeOf): void {
    this.#windows = new Windows(timeZone)
    this.#serving = scopeOf
    this.#meters = new WeakMap()
    this.#lists = new WeakMap()
    this.#last = NO_LISTS
    this.#before = NO_LISTS
  }

  /** The same object for a scope as long as the time zone holds. */
  metersOf(scope: Scope): readonly Meter[] {
    const known = this.#meters.get(scope)
    if (known !== undefined) return known
    const meters = makeMeters(scope)
    this.#meters.set(scope, meters)
    return meters
  }

  /** Those of all scopes and units. */
  metersOfAll(scopes: readonly Scope[]): readonly Meter[] {
    return this.listOf(scopes, ALL_UNITS).meters
  }

  /** Those of all scopes, of some units: worked out once for a list of scopes, which is one of the plan. */
  listOf(scopes: readonly Scope[], units: number): MeterList {
    const { byUnits } = this.#listsOf(scopes)
    const known = byUnits[units]
    if (known !== undefined) return known
    const all = scopes.flatMap(scope => this.metersOf(scope))
    const meters = all.filter(({ unit }) => (UNITS[unit] & units) !== 0)
    const list = { meters, accounts: [], from: 0, until: Number.NEGATIVE_INFINITY, sweep: 0 }
    byUnits[units] = list
    return list
  }

  /** The accounts of a list in the windows that hold now. */
  accountsOf(list: MeterList, now: number): readonly Account[] {
    if (now < list.until && now >= list.from && list.sweep === this.#sweeps) return list.accounts
    const accounts = list.meters.map(meter => this.current(meter, now))
    list.accounts = accounts
    list.from = Math.max(...accounts.map(({ span }) => span.start))
    list.until = Math.min(...accounts.map(({ span }) => span.end))
    list.sweep = this.#sweeps
    return accounts
  }

  #listsOf(scopes: readonly Scope[]): ScopeLists {
    if (scopes === this.#last.scopes) return this.#last
    if (scopes === this.#before.scopes) return this.#before
    const lists = this.#lists.get(scopes) ?? { scopes, byUnits: [] }
    this.#lists.set(scopes, lists)
    this.#before = this.#last
    this.#last = lists
    return lists
  }

  /** The account of the window that holds now. */
  current(meter: Meter, now: number): Account {
    const { account } = meter
    if (account !== undefined && !account.gone && now < account.span.end && now >= account.span.start) return account
    return this.at(meter, now)
  }

  /** The account of a window, made where it is not known. */
  at(meter: Meter, now: number): Account {
    const { scope, unit, window, amount } = meter
    const span = window === undefined ? undefined : this.#windows.at(window, now)
    const name = accountName(scope, unit, window, span)
    const known = this.accounts.get(name)
    const account = known ?? new Account(name, unit, span, amount, this.#isShared)
    if (known === undefined) {
      this.#estate?.add(name)
      // Only what takes of it is a use: reading it keeps no lease.
      account.touched = this.#clock.monotonic()
    }
    this.accounts.set(name, account)
    if (span !== undefined) account.span = span
    if (this.#adjust(account, meter)) this.#mark(account)
    account.follow(meter.account)
    meter.account = account
    this.#cancelSweep ??= this.#clock.after(IDLE_MS, this.#sweep)
    return account
  }

  /**
   * The bound is as the plan that serves has it, and of holders that no plan knows as their latest terms say: requests that began
   * before follow them. Whether the next commit has to give something back.
   */
  #adjust(account: Account, { scope, unit, window, amount }: Meter): boolean {
    const serving = this.#serving(scope.type, scope.name)
    const { made = 0 } = serving ?? scope
    if (serving === undefined && made < account.made) return false
    if (serving === undefined || serving === scope) return account.setBound(amount, made)
    const same = this.metersOf(serving).find(one => one.unit === unit && one.window === window)
    return account.setBound(same?.amount ?? amount, made)
  }

  /** The account's name in the window of a moment, which need not be now. */
  nameAt({ scope, unit, window }: Meter, at: number): string {
    return accountName(scope, unit, window, window === undefined ? undefined : this.#windows.find(window, at))
  }

  stop(): void {
    this.#cancelSweep?.()
  }

  /** Renews leases that are used, gives back and forgets those that are not. */
  readonly #sweep = (): void => {
    const [now, monotonic] = [this.#clock.now(), this.#clock.monotonic()]
    const before = this.accounts.size
    const isCrowded = before > MAX_ACCOUNTS
    for (const account of this.accounts.values()) {
      const isIdle = monotonic - account.touched >= IDLE_MS
      const isOver = account.lease <= 0 || monotonic >= account.leaseEnd || now >= account.span.end
      if (isIdle && account.isSettled && isOver) this.#forget(account)
      else if (isIdle && (this.#isShared || isCrowded) && account.lease > account.reserved) {
        account.leaving = true
        this.#mark(account)
      } else if ((!isIdle || account.reserved > 0) && account.leaseEnd - monotonic < RENEW_MS) this.#mark(account)
    }
    if (this.accounts.size < before) this.#sweeps++
    this.#cancelSweep = this.accounts.size === 0 ? undefined : this.#clock.after(IDLE_MS, this.#sweep)
  }

  #forget(account: Account): void {
    account.gone = true
    this.accounts.delete(account.name)
    this.#estate?.remove(account.name)
  }
}

/** One for each bound and each place. Of several bounds of one unit and window the smallest counts. */
function makeMeters(scope: Scope): readonly Meter[] {
  const { bounds, in_flight, streams } = scope.limits
  const meters = new Map<string, Meter>()
  for (const bound of bounds) {
    const { unit, window, amount } = bound
    const known = meters.get(`${unit} ${window}`)
    if (known !== undefined && known.amount <= amount) continue
    meters.set(`${unit} ${window}`, { scope, unit, window, bound, amount, account: undefined })
  }
  const places = [['in_flight', in_flight] as const, ['streams', streams] as const]
  for (const [unit, amount] of places)
    if (amount !== undefined)
      meters.set(unit, { scope, unit, window: undefined, bound: amount, amount, account: undefined })
  return [...meters.values()]
}
