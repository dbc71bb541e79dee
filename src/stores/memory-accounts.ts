import {
  type Accounts,
  type Commit,
  checkCommit,
  type LeaseChange,
  type LeaseState,
  NOTHING_SPENT,
  type StoredEntry,
  type Tally,
} from '../core/accounts.js'
import { ExpiringMap } from './expiring-map.js'
import { MemoryLedger } from './memory-ledger.js'

/** What the memory store keeps of accounts at most. */
export interface AccountBounds {
  /** Those that have expired make room, then those that were not used for longest. */
  readonly accounts: number
  /** Writers whose numbers are remembered; those that are remembered least make room. */
  readonly writers: number
  /** Of the ledger, bytes; the oldest days make room. */
  readonly ledger: number
}

export const ACCOUNT_BOUNDS: AccountBounds = {
  accounts: 100_000,
  writers: 100_000,
  ledger: 64 * 1024 * 1024,
}

/** Of all accounts, when there is no room for another one. */
const EVICTED_SHARE = 1 / 256

interface Lease {
  readonly held: number
  readonly until: number
}

interface Account {
  spent: number
  held: number
  readonly leases: Map<string, Lease>
  /** No lease ends before this. */
  earliest: number
}

/** Accounts of this process. */
export class MemoryAccounts implements Accounts {
  readonly #accounts = new ExpiringMap<Account>(Infinity)
  readonly #maxAccounts: number
  /** The number of a writer's last commit. */
  readonly #writers: ExpiringMap<number>
  readonly #ledger: MemoryLedger
  readonly #check: () => void

  constructor(check: () => void, { accounts, writers, ledger }: AccountBounds = ACCOUNT_BOUNDS) {
    this.#maxAccounts = accounts
    this.#writers = new ExpiringMap(writers)
    this.#ledger = new MemoryLedger(ledger)
    this.#check = check
  }

  async commit(commit: Commit): Promise<readonly LeaseState[]> {
    this.#check()
    const { now, writer, number, remembered, leases, runs } = commit
    checkCommit(commit, runs === undefined ? commit.entries : [])
    const last = this.#writers.get(writer)?.value
    if (last !== undefined && last >= number) return leases.map(change => this.state(change, now))
    this.#writers.set(writer, number, remembered)
    if (runs === undefined) this.#ledger.append(commit.entries)
    else for (const run of runs) this.#ledger.adopt(run)
    return leases.map(change => apply(this.open(change, now), change))
  }

  async read(names: readonly string[], now: number): Promise<readonly Tally[]> {
    this.#check()
    return names.map(name => this.tally(name, now))
  }

  async entries(
    day: string,
    range: { readonly after: number; readonly limit: number },
  ): Promise<readonly StoredEntry[]> {
    this.#check()
    return this.#ledger.entries(day, range)
  }

  async days(): Promise<readonly string[]> {
    this.#check()
    return this.#ledger.days()
  }

  async dropDay(day: string): Promise<void> {
    this.#check()
    this.#ledger.drop(day)
  }

  sweep(now: number, limit: number): number {
    const swept = this.#accounts.sweep(now, limit) + this.#writers.sweep(now, limit)
    let released = 0
    for (const [, { value }] of this.#accounts.entries()) {
      if (released >= limit) break
      released += release(value, now)
    }
    return swept + released
  }

  clear(): void {
    this.#accounts.sweep(Infinity, Infinity)
    this.#writers.sweep(Infinity, Infinity)
    this.#ledger.clear()
  }

  private open({ account: name, expires }: LeaseChange, now: number): Account {
    const known = this.#accounts.get(name)
    if (known !== undefined && known.expires > now) {
      this.#accounts.set(name, known.value, Math.max(known.expires, expires))
      release(known.value, now)
      return known.value
    }
    const fresh = { spent: 0, held: 0, leases: new Map(), earliest: Infinity }
    this.#accounts.set(name, fresh, expires)
    if (this.#accounts.size > this.#maxAccounts) this.makeRoom(now)
    return fresh
  }

  /**
   * Windows that hold are used more than those that are over. What a lease holds stays as long as little does, and so does
   * the account that was added last. Several go at once, because finding the first entry of a large map is slow once many before
   * it are gone.
   */
  private makeRoom(now: number): void {
    let left = Math.ceil(this.#maxAccounts * EVICTED_SHARE)
    if (this.#accounts.sweep(now, left) > 0) return
    let spared = Math.min(2 * left, this.#accounts.size - 2)
    for (const [name, { value, expires }] of this.#accounts.entries()) {
      release(value, now)
      if (value.leases.size > 0 && spared-- > 0) this.#accounts.set(name, value, expires)
      else {
        this.#accounts.delete(name)
        if (--left === 0) return
      }
    }
  }

  private tally(name: string, now: number): Tally {
    const known = this.#accounts.get(name)
    if (known === undefined || known.expires <= now) return NOTHING_SPENT
    const { spent, held, leases, earliest } = known.value
    if (earliest > now) return { spent, held }
    const over = [...leases.values()].filter(({ until }) => until <= now)
    return { spent, held: over.reduce((rest, lease) => rest - lease.held, held) }
  }

  /** As it is, for a commit that was repeated. */
  private state({ account, lease: name }: LeaseChange, now: number): LeaseState {
    const tally = this.tally(account, now)
    const known = this.#accounts.get(account)
    const lease = known !== undefined && known.expires > now ? known.value.leases.get(name) : undefined
    return { ...tally, lease: lease !== undefined && lease.until > now ? lease.held : 0 }
  }
}

/** The rules of {@link LeaseChange}. */
function apply(account: Account, { lease, bound, spend, hold, until }: LeaseChange): LeaseState {
  const before = account.leases.get(lease)?.held ?? 0
  const left = Math.max(0, before - spend)
  account.spent += spend
  account.held += left - before
  const free = Math.max(0, bound - account.spent - account.held)
  const held = Math.min(hold, left + free)
  account.held += held - left
  if (held > 0) {
    account.leases.set(lease, { held, until })
    account.earliest = Math.min(account.earliest, until)
  } else account.leases.delete(lease)
  return { spent: account.spent, held: account.held, lease: held }
}

/** Gives back what leases held that have ended; returns their number. */
function release(account: Account, now: number): number {
  if (account.earliest > now) return 0
  const before = account.leases.size
  account.earliest = Infinity
  for (const [name, { held, until }] of account.leases) {
    if (until > now) {
      account.earliest = Math.min(account.earliest, until)
      continue
    }
    account.held -= held
    account.leases.delete(name)
  }
  return before - account.leases.size
}
