import type { Database } from 'lmdb'
import {
  type Accounts,
  type Commit,
  checkCommit,
  type Entry,
  isAccount,
  isDay,
  type LeaseChange,
  type LeaseState,
  NOTHING_SPENT,
  type StoredEntry,
  type Tally,
} from '../core/accounts.js'
import { type FileEnvironment, type Key, LAST, NOTHING, quietly } from './file-environment.js'

/** Leases that a commit gives back at most before it looks at its own, the earliest first. */
const MAX_RELEASED_LEASES = 1000
/** Entries of a dropped day that one transaction removes: others wait for it. */
const MAX_DROPPED_ENTRIES = 5000

interface Account extends Tally {
  readonly expires: number
}

interface Lease {
  readonly held: number
  readonly until: number
}

interface Writer {
  readonly number: number
  readonly remembered: number
}

/** Accounts in the file: a commit is one transaction of it. */
export class FileAccounts implements Accounts {
  readonly #environment: FileEnvironment
  readonly #accounts: Database<Account, string>
  /** By [account, lease]. */
  readonly #leases: Database<Lease, Key>
  readonly #writers: Database<Writer, string>
  /** By day: the number of its last entry. */
  readonly #days: Database<number, string>
  /** By [day, sequence]. */
  readonly #entries: Database<Buffer, Key>
  /** [until, account, lease]. */
  readonly #leaseEnds: Database<Buffer, Key>
  /** [expires, account]. */
  readonly #accountEnds: Database<Buffer, Key>
  /** [remembered, writer]. */
  readonly #writerEnds: Database<Buffer, Key>

  constructor(environment: FileEnvironment) {
    this.#environment = environment
    this.#accounts = environment.json('accounts')
    this.#leases = environment.json('account-leases')
    this.#writers = environment.json('account-writers')
    this.#days = environment.json('ledger-days')
    this.#entries = environment.bytes('ledger-entries')
    this.#leaseEnds = environment.bytes('account-lease-ends')
    this.#accountEnds = environment.bytes('account-ends')
    this.#writerEnds = environment.bytes('account-writer-ends')
  }

  async commit(commit: Commit): Promise<readonly LeaseState[]> {
    checkCommit(commit)
    const { writer, number, remembered, now, leases, entries } = commit
    return this.#environment.transaction(() => {
      const last = this.#writers.get(writer)
      if (last !== undefined && last.number >= number) return leases.map(change => this.state(change, now))
      this.release(now, MAX_RELEASED_LEASES)
      this.remember(writer, { number, remembered }, last)
      this.append(entries)
      return leases.map(change => this.apply(change, now))
    })
  }

  async read(names: readonly string[], now: number): Promise<readonly Tally[]> {
    this.#environment.renew()
    return this.#environment.read(() => {
      const over = new Map<string, number>()
      for (const key of this.#leaseEnds.getKeys({ end: [now, LAST] })) {
        const [, account, lease] = key as [number, string, string]
        over.set(account, (over.get(account) ?? 0) + (this.#leases.get([account, lease])?.held ?? 0))
      }
      return names.map(name => {
        const account = isAccount(name) ? this.#accounts.get(name) : undefined
        if (account === undefined || account.expires <= now) return NOTHING_SPENT
        return { spent: account.spent, held: account.held - (over.get(name) ?? 0) }
      })
    })
  }

  async entries(
    day: string,
    { after, limit }: { readonly after: number; readonly limit: number },
  ): Promise<readonly StoredEntry[]> {
    this.#environment.renew()
    if (!isDay(day)) return []
    const range = { start: [day, after + 1], end: [day, LAST], limit }
    return this.#environment
      .read(() => [...this.#entries.getRange(range)])
      .map(({ key, value }) => ({ sequence: Number(key[1]), value }))
  }

  async days(): Promise<readonly string[]> {
    this.#environment.renew()
    return this.#environment.read(() => [...this.#days.getKeys()])
  }

  async dropDay(day: string): Promise<void> {
    this.#environment.checkOpen()
    if (!isDay(day)) return
    const range = { start: [day], end: [day, LAST], limit: MAX_DROPPED_ENTRIES }
    const step = (): boolean => {
      const keys = [...this.#entries.getKeys(range)]
      for (const key of keys) quietly(this.#entries.remove(key))
      if (keys.length === MAX_DROPPED_ENTRIES) return true
      quietly(this.#days.remove(day))
      return false
    }
    while (await this.#environment.transaction(step));
  }

  async sweep(now: number, limit: number): Promise<number> {
    this.#environment.renew()
    const indexes = [this.#leaseEnds, this.#accountEnds, this.#writerEnds]
    const range = { end: [now, LAST], limit: 1 }
    const isDue = this.#environment.read(() => indexes.some(index => [...index.getKeys(range)].length > 0))
    if (!isDue) return 0
    return this.#environment.transaction(
      () => this.release(now, limit) + this.forgetAccounts(now, limit) + this.forgetWriters(now, limit),
    )
  }

  private apply({ account: name, lease, expires, bound, spend, hold, until }: LeaseChange, now: number): LeaseState {
    const known = this.live(name, now)
    const account = known ?? { ...NOTHING_SPENT, expires }
    const knownLease = this.#leases.get([name, lease])
    const before = knownLease?.held ?? 0
    const left = Math.max(0, before - spend)
    const spent = account.spent + spend
    const heldByOthers = account.held - before
    const held = Math.min(hold, left + Math.max(0, bound - spent - heldByOthers - left))
    const tally = { spent, held: heldByOthers + held }
    this.keepLease(name, lease, { held, until }, knownLease)
    this.keepAccount(name, { ...tally, expires: Math.max(account.expires, expires) }, known)
    return { ...tally, lease: held }
  }

  /** As it is, for a commit that was repeated. */
  private state({ account: name, lease }: LeaseChange, now: number): LeaseState {
    const account = this.#accounts.get(name)
    if (account === undefined || account.expires <= now) return { ...NOTHING_SPENT, lease: 0 }
    const leases = [...this.#leases.getRange({ start: [name], end: [name, LAST] })]
    const live = leases.filter(({ value }) => value.until > now)
    return {
      spent: account.spent,
      held: live.reduce((sum, { value }) => sum + value.held, 0),
      lease: live.find(({ key }) => key[1] === lease)?.value.held ?? 0,
    }
  }

  /** The account in its present window; one whose window has ended is removed. */
  private live(name: string, now: number): Account | undefined {
    const known = this.#accounts.get(name)
    if (known === undefined || known.expires > now) return known
    this.dropAccount(name, known)
    return undefined
  }

  /** Gives back what leases held that have ended; returns their number. */
  private release(now: number, limit: number): number {
    const ended = [...this.#leaseEnds.getKeys({ end: [now, LAST], limit })]
    for (const key of ended) {
      const [, name, lease] = key as [number, string, string]
      const known = this.#leases.get([name, lease])
      const account = this.#accounts.get(name)
      this.keepLease(name, lease, { held: 0, until: now }, known)
      const held = (account?.held ?? 0) - (known?.held ?? 0)
      if (account !== undefined) this.keepAccount(name, { ...account, held }, account)
    }
    return ended.length
  }

  private keepLease(account: string, lease: string, next: Lease, known: Lease | undefined): void {
    const isGone = next.held === 0
    if (known !== undefined && (isGone || known.until !== next.until)) {
      quietly(this.#leaseEnds.remove([known.until, account, lease]))
    }
    if (isGone) {
      if (known !== undefined) quietly(this.#leases.remove([account, lease]))
      return
    }
    if (known?.until !== next.until) quietly(this.#leaseEnds.put([next.until, account, lease], NOTHING))
    quietly(this.#leases.put([account, lease], next))
  }

  private keepAccount(name: string, next: Account, known: Account | undefined): void {
    if (known?.expires !== next.expires) {
      if (known !== undefined) quietly(this.#accountEnds.remove([known.expires, name]))
      quietly(this.#accountEnds.put([next.expires, name], NOTHING))
    }
    quietly(this.#accounts.put(name, next))
  }

  private dropAccount(name: string, { expires }: Account): void {
    for (const { key, value } of [...this.#leases.getRange({ start: [name], end: [name, LAST] })]) {
      this.keepLease(name, String(key[1]), { held: 0, until: 0 }, value)
    }
    quietly(this.#accountEnds.remove([expires, name]))
    quietly(this.#accounts.remove(name))
  }

  private remember(writer: string, next: Writer, known: Writer | undefined): void {
    if (known?.remembered !== next.remembered) {
      if (known !== undefined) quietly(this.#writerEnds.remove([known.remembered, writer]))
      quietly(this.#writerEnds.put([next.remembered, writer], NOTHING))
    }
    quietly(this.#writers.put(writer, next))
  }

  /** The counters of days are written once, not for each entry. */
  private append(entries: readonly Entry[]): void {
    const last = new Map<string, number>()
    for (const { day, value } of entries) {
      const sequence = 1 + (last.get(day) ?? this.#days.get(day) ?? 0)
      last.set(day, sequence)
      quietly(this.#entries.put([day, sequence], Buffer.from(value)))
    }
    for (const [day, sequence] of last) quietly(this.#days.put(day, sequence))
  }

  private forgetAccounts(now: number, limit: number): number {
    const ended = [...this.#accountEnds.getKeys({ end: [now, LAST], limit })]
    for (const key of ended) {
      const [expires, name] = key as [number, string]
      this.dropAccount(name, { ...NOTHING_SPENT, expires })
    }
    return ended.length
  }

  private forgetWriters(now: number, limit: number): number {
    const ended = [...this.#writerEnds.getKeys({ end: [now, LAST], limit })]
    for (const key of ended) {
      quietly(this.#writers.remove(String(key[1])))
      quietly(this.#writerEnds.remove(key))
    }
    return ended.length
  }
}
