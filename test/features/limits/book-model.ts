import type { Accounts } from '../../../src/core/accounts.js'
import type { Scope } from '../../../src/core/bounds.js'
import type { LedgerRecord } from '../../../src/core/ledger.js'
import { Book } from '../../../src/features/limits/book.js'
import { type Amounts, type Claim, Reservation } from '../../../src/features/limits/reservation.js'
import { type Fate, UnreliableAccounts } from './unreliable-accounts.js'
import type { VirtualTime } from './virtual-time.js'

/** What the slowest and the fastest clock differ by, milliseconds. */
export const SKEW_MS = 8000

interface Open {
  readonly id: string
  readonly reservation: Reservation
  readonly parts: Map<string, number>
}

/** One process: its book, and what the test knows that it did. */
export class Process {
  readonly store: UnreliableAccounts
  readonly clock: ReturnType<VirtualTime['clock']>
  readonly book: Book
  readonly open: Open[] = []
  /** Of each account, and records of what was settled. */
  readonly used = new Map<string, number>()
  readonly settled: string[] = []
  readonly faults: string[] = []
  readonly #time: VirtualTime
  readonly #name: string
  #ids = 0
  jumpedAt: number | undefined

  constructor(
    time: VirtualTime,
    accounts: Accounts,
    { name, ahead, isShared = true }: { name: string; ahead: number; isShared?: boolean },
  ) {
    this.#time = time
    this.#name = name
    this.store = new UnreliableAccounts(accounts)
    this.clock = time.clock(ahead)
    this.book = new Book(this.store, { clock: this.clock, isShared, isDurable: true, onFault: () => {} })
  }

  get isDead(): boolean {
    return this.clock.state === 'dead'
  }

  reserve(claims: readonly Claim[], count: (isGranted: boolean) => void = () => {}): void {
    void Promise.resolve(this.book.reserve(claims)).then(outcome => {
      if (this.isDead) return
      count(outcome instanceof Reservation)
      if (outcome instanceof Reservation) this.#admit(outcome)
    })
  }

  extend(nth: number, more: Amounts): void {
    const open = this.open[nth % Math.max(1, this.open.length)]
    if (open === undefined) return
    void Promise.resolve(this.book.extend(open.reservation, more)).then(shortage => {
      if (this.isDead || shortage !== undefined || !this.open.includes(open)) return
      const before = new Map(open.parts)
      for (const [name, amount] of partsOf(open.reservation)) open.parts.set(name, amount)
      const grown = [...open.parts].filter(([name, amount]) => amount > (before.get(name) ?? 0))
      this.#check({ ...open, parts: new Map(grown) })
    })
  }

  settle(nth: number, share: number): void {
    const at = nth % Math.max(1, this.open.length)
    const [open] = this.open.splice(at, 1)
    if (open === undefined) return
    const used: Record<string, number> = {}
    for (const { unit, isPlace } of open.reservation.accounts) {
      const reserved = open.reservation.accounts.map((account, at) =>
        account.unit === unit ? (open.reservation.amounts[at] as number) : 0,
      )
      // Several scopes reserve the same amount; an extended one adds up.
      const scopes = new Set(open.reservation.meters.filter(meter => meter.unit === unit)).size
      if (!isPlace) used[unit] = Math.floor((share * reserved.reduce((a, b) => a + b, 0)) / scopes)
    }
    this.settled.push(open.id)
    this.book.settle(open.reservation, used, recordOf(open.id, this.#time.now))
    open.reservation.accounts.forEach(({ name }, at) => {
      this.used.set(name, (this.used.get(name) ?? 0) + (open.reservation.amounts[at] as number))
    })
    this.book.settle(open.reservation, used, recordOf(`${open.id} again`, this.#time.now))
  }

  fail(fate: Fate): void {
    this.store.fate = fate
  }

  kill(): void {
    this.clock.state = 'dead'
    this.store.dead = true
  }

  /** What this process must hold of an account: open reservations, and what it has not written. */
  needs(name: string): number {
    const open = this.open.reduce((sum, { parts }) => sum + (parts.get(name) ?? 0), 0)
    return open + (this.used.get(name) ?? 0) - (this.store.applied.spent.get(name) ?? 0)
  }

  /** What the store keeps for it, by any clock of another process. */
  holds(name: string): number {
    const { amount, until } = this.store.applied.held.get(name) ?? { amount: 0, until: 0 }
    return until > this.#time.now + SKEW_MS / 2 ? amount : 0
  }

  get names(): readonly string[] {
    return [...new Set([...this.used.keys(), ...this.open.flatMap(({ parts }) => [...parts.keys()])])]
  }

  #admit(reservation: Reservation): void {
    const open = { id: `${this.#name}/${++this.#ids}`, reservation, parts: partsOf(reservation) }
    this.open.push(open)
    this.#check(open)
  }

  #check({ id, parts }: Open): void {
    for (const [name, amount] of parts)
      if (amount > 0 && this.needs(name) > this.holds(name))
        this.faults.push(`${id} was let pass: ${name} needs ${this.needs(name)} and holds ${this.holds(name)}`)
  }
}

function partsOf({ accounts, amounts }: Reservation): Map<string, number> {
  return new Map(accounts.map(({ name }, at) => [name, amounts[at] as number]))
}

function recordOf(id: string, at: number): Omit<LedgerRecord, 'charges'> {
  const target = { key: 'alice', model: 'm', upstream: 'u', route: 'POST /v1/chat/completions' }
  return { id, at, ...target, units: {}, cost: 0, outcome: 'ok', generation: 1 }
}

/** All bounds of scopes by the beginning of their accounts' names. */
export function boundOf(name: string, scopes: readonly Scope[]): number {
  for (const { type, name: scope, limits } of scopes) {
    for (const { unit, window, amount } of limits.bounds)
      if (name.startsWith(`${type}:${scope} ${unit} ${window}`)) return amount
    if (name === `${type}:${scope} in_flight`) return limits.in_flight ?? 0
  }
  throw new Error(`no bound for ${name}`)
}
