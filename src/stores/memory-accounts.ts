import type { Accounts, Commit, Entry, LeaseChange, LeaseState, StoredEntry, Tally } from '../core/accounts.js'

interface Lease {
  held: number
  until: number
}

interface Account {
  spent: number
  held: number
  expires: number
  readonly leases: Map<string, Lease>
}

/** Accounts of this process. */
export class MemoryAccounts implements Accounts {
  readonly #accounts = new Map<string, Account>()
  readonly #writers = new Map<string, { number: number; remembered: number }>()
  readonly #days = new Map<string, StoredEntry[]>()
  readonly #check: () => void

  constructor(check: () => void) {
    this.#check = check
  }

  async commit(commit: Commit): Promise<readonly LeaseState[]> {
    this.#check()
    const { now, writer, number, remembered } = commit
    const known = this.#writers.get(writer)
    const isRepeated = known !== undefined && known.remembered > now && known.number >= number
    if (!isRepeated) {
      this.#writers.set(writer, { number, remembered })
      for (const entry of commit.entries) this.append(entry)
    }
    return commit.leases.map(change => this.apply(change, now, isRepeated))
  }

  async read(names: readonly string[], now: number): Promise<readonly Tally[]> {
    this.#check()
    return names.map(name => {
      const account = this.#accounts.get(name)
      if (account === undefined || account.expires <= now) return { spent: 0, held: 0 }
      release(account, now)
      return { spent: account.spent, held: account.held }
    })
  }

  async entries(
    day: string,
    range: { readonly after: number; readonly limit: number },
  ): Promise<readonly StoredEntry[]> {
    this.#check()
    return (this.#days.get(day) ?? []).slice(range.after, range.after + range.limit)
  }

  async days(): Promise<readonly string[]> {
    this.#check()
    return [...this.#days.keys()].toSorted()
  }

  async dropDay(day: string): Promise<void> {
    this.#check()
    this.#days.delete(day)
  }

  private append({ day, value }: Entry): void {
    const entries = this.#days.get(day) ?? []
    this.#days.set(day, entries)
    entries.push({ sequence: entries.length + 1, value: Buffer.from(value) })
  }

  private apply(change: LeaseChange, now: number, isRepeated: boolean): LeaseState {
    const account = this.open(change, now)
    release(account, now)
    const lease = account.leases.get(change.lease)
    if (isRepeated) return { spent: account.spent, held: account.held, lease: lease?.held ?? 0 }
    const before = lease?.held ?? 0
    const left = Math.max(0, before - change.spend)
    account.spent += change.spend
    account.held += left - before
    const free = Math.max(0, change.bound - account.spent - account.held)
    const held = Math.min(change.hold, left + free)
    account.held += held - left
    if (held > 0) account.leases.set(change.lease, { held, until: change.until })
    else account.leases.delete(change.lease)
    return { spent: account.spent, held: account.held, lease: held }
  }

  private open({ account: name, expires }: LeaseChange, now: number): Account {
    const known = this.#accounts.get(name)
    if (known !== undefined && known.expires > now) {
      known.expires = Math.max(known.expires, expires)
      return known
    }
    const fresh = { spent: 0, held: 0, expires, leases: new Map() }
    this.#accounts.set(name, fresh)
    return fresh
  }
}

/** Gives back what leases held that have expired. */
function release(account: Account, now: number): void {
  for (const [name, { held, until }] of account.leases) {
    if (until > now) continue
    account.held -= held
    account.leases.delete(name)
  }
}
