import type { Database } from 'lmdb'
import {
  type Counter,
  type Counters,
  checkCount,
  isPlace,
  NOTHING_COUNTED,
  type Place,
  type Reservation,
  type Settlement,
  type Tally,
} from '../core/store.js'
import { type FileEnvironment, type Key, LAST, NOTHING, quietly } from './file-environment.js'

interface Account extends Tally {
  readonly expires: number
}

/** The amount reserved for an id, or that the id was settled; each until a time. */
interface Item {
  readonly amount: number
  readonly settled: boolean
  readonly until: number
}

/** Counters in the file: every step is one transaction of it. */
export class FileCounters implements Counters {
  readonly #environment: FileEnvironment
  /** By [namespace, owner, key]. */
  readonly #accounts: Database<Account, Key>
  /** By [namespace, owner, key, id]. */
  readonly #items: Database<Item, Key>
  /** [namespace, owner, key, until, id]. */
  readonly #ends: Database<Buffer, Key>
  /** [expires, namespace, owner, key]. */
  readonly #expiry: Database<Buffer, Key>

  constructor(environment: FileEnvironment) {
    this.#environment = environment
    this.#accounts = environment.json('counters')
    this.#items = environment.json('counter-items')
    this.#ends = environment.bytes('counter-ends')
    this.#expiry = environment.bytes('counter-expiry')
  }

  async reserve(counter: Counter, reservation: Reservation): Promise<Tally | undefined> {
    checkCount(counter, reservation)
    const { id, amount, ceiling, now, expires } = reservation
    const at = keyOf(counter)
    return this.#environment.transaction(() => {
      const account = this.open(counter, now)
      const known = this.#items.get([...at, id])
      if (known !== undefined && !known.settled) return this.keep(at, account)
      if (account.spent + account.reserved + amount > ceiling) {
        this.keep(at, account)
        return undefined
      }
      this.add(at, id, { amount, settled: false, until: expires }, known)
      return this.keep(at, { ...account, reserved: account.reserved + amount })
    })
  }

  async settle(counter: Counter, settlement: Settlement): Promise<Tally | undefined> {
    checkCount(counter, settlement)
    const { id, amount, now, until } = settlement
    const at = keyOf(counter)
    return this.#environment.transaction(() => {
      const account = this.open(counter, now)
      const known = this.#items.get([...at, id])
      if (known?.settled === true) {
        this.keep(at, account)
        return undefined
      }
      this.add(at, id, { amount: 0, settled: true, until }, known)
      const reserved = account.reserved - (known?.amount ?? 0)
      return this.keep(at, { ...account, reserved, spent: account.spent + amount })
    })
  }

  async read(counter: Place, now: number): Promise<Tally> {
    if (!isPlace(counter)) return NOTHING_COUNTED
    this.#environment.renew()
    const at = keyOf(counter)
    return this.#environment.read(() => {
      const account = this.#accounts.get(at)
      if (account === undefined || account.expires <= now) return NOTHING_COUNTED
      let { reserved } = account
      for (const id of this.over(at, now)) reserved -= this.#items.get([...at, id])?.amount ?? 0
      return { spent: account.spent, reserved }
    })
  }

  sweep(now: number, limit: number): Promise<number> {
    this.#environment.renew()
    const [first] = this.#environment.read(() => [...this.#expiry.getKeys({ end: [now, LAST], limit: 1 })])
    if (first === undefined) return Promise.resolve(0)
    return this.#environment.transaction(() => {
      const due = [...this.#expiry.getKeys({ end: [now, LAST], limit })]
      for (const [, ...at] of due) this.drop(at)
      return due.length
    })
  }

  /** The account as of now, without what has expired: the items are gone at once, so the caller has to `keep` it. */
  private open(counter: Counter, now: number): Account {
    const at = keyOf(counter)
    const known = this.#accounts.get(at)
    if (known === undefined || known.expires <= now) {
      if (known !== undefined) this.drop(at)
      return { ...NOTHING_COUNTED, expires: counter.expires }
    }
    let { reserved } = known
    for (const id of this.over(at, now)) {
      const item = this.#items.get([...at, id])
      reserved -= item?.amount ?? 0
      quietly(this.#items.remove([...at, id]))
      if (item !== undefined) quietly(this.#ends.remove([...at, item.until, id]))
    }
    return { ...known, reserved, expires: Math.max(known.expires, counter.expires) }
  }

  /** The ids whose time is over. */
  private over(at: Key, now: number): string[] {
    return [...this.#ends.getKeys({ start: at, end: [...at, now, LAST] })].map(key => key[4] as string)
  }

  private add(at: Key, id: string, item: Item, known: Item | undefined): void {
    if (known !== undefined) quietly(this.#ends.remove([...at, known.until, id]))
    quietly(this.#items.put([...at, id], item))
    quietly(this.#ends.put([...at, item.until, id], NOTHING))
  }

  private keep(at: Key, account: Account): Tally {
    const known = this.#accounts.get(at)
    if (known !== undefined && known.expires !== account.expires) quietly(this.#expiry.remove([known.expires, ...at]))
    if (known?.expires !== account.expires) quietly(this.#expiry.put([account.expires, ...at], NOTHING))
    quietly(this.#accounts.put(at, account))
    return { spent: account.spent, reserved: account.reserved }
  }

  private drop(at: Key): void {
    const account = this.#accounts.get(at)
    if (account !== undefined) quietly(this.#expiry.remove([account.expires, ...at]))
    quietly(this.#accounts.remove(at))
    for (const key of [...this.#ends.getKeys({ start: at, end: [...at, LAST] })]) {
      quietly(this.#items.remove([...at, key[4] as string]))
      quietly(this.#ends.remove(key))
    }
  }
}

function keyOf({ namespace, owner, key }: Place): Key {
  return [namespace, owner, key]
}
