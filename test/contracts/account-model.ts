import type { Commit, LeaseChange, LeaseState, Tally } from '../../src/core/accounts.js'

interface Lease {
  readonly held: number
  readonly until: number
}

interface Account {
  readonly spent: number
  readonly expires: number
  readonly leases: ReadonlyMap<string, Lease>
}

/** The rules of accounts, as plainly as they can be said. */
export class AccountModel {
  readonly #accounts = new Map<string, Account>()
  readonly #numbers = new Map<string, number>()
  entries: string[] = []

  commit({ writer, number, now, leases, entries }: Commit): readonly LeaseState[] {
    const isRepeated = (this.#numbers.get(writer) ?? 0) >= number
    if (!isRepeated) {
      this.#numbers.set(writer, number)
      this.entries.push(...entries.map(({ value }) => Buffer.from(value).toString()))
    }
    return leases.map(change => {
      if (!isRepeated) this.change(change, now)
      const lease = this.live(change.account, now).leases.get(change.lease)?.held ?? 0
      return { ...this.read(change.account, now), lease }
    })
  }

  read(name: string, now: number): Tally {
    const { spent, leases } = this.live(name, now)
    return { spent, held: sum(leases) }
  }

  private change({ account: name, lease, expires, bound, spend, hold, until }: LeaseChange, now: number): void {
    const account = this.live(name, now)
    const left = Math.max(0, (account.leases.get(lease)?.held ?? 0) - spend)
    const others = new Map([...account.leases].filter(([other]) => other !== lease))
    const spent = account.spent + spend
    const free = Math.max(0, bound - spent - sum(others) - left)
    const held = Math.min(hold, left + free)
    const leases = held > 0 ? others.set(lease, { held, until }) : others
    this.#accounts.set(name, { spent, expires: Math.max(account.expires, expires), leases })
  }

  /** As of now: without what has expired. */
  private live(name: string, now: number): Account {
    const known = this.#accounts.get(name)
    if (known === undefined || known.expires <= now) return { spent: 0, expires: 0, leases: new Map() }
    return { ...known, leases: new Map([...known.leases].filter(([, { until }]) => until > now)) }
  }
}

function sum(leases: ReadonlyMap<string, Lease>): number {
  return [...leases.values()].reduce((all, { held }) => all + held, 0)
}
