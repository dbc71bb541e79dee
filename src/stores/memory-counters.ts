import {
  type Counter,
  type Counters,
  checkCount,
  checkPlace,
  checkValue,
  type Entry,
  type Ledger,
  NOTHING_COUNTED,
  type Place,
  type Reservation,
  type Settlement,
  type Tally,
} from '../core/store.js'

/** The amount reserved for an id, or that the id was settled; each until a time. */
interface Item {
  readonly amount: number
  readonly settled: boolean
  readonly until: number
}

interface Account {
  spent: number
  reserved: number
  expires: number
  readonly items: Map<string, Item>
  /** No item is over before this. */
  earliest: number
}

/** Counters of this process. */
export class MemoryCounters implements Counters {
  readonly #accounts = new Map<string, Account>()
  readonly #check: () => void

  constructor(check: () => void) {
    this.#check = check
  }

  get size(): number {
    return this.#accounts.size
  }

  async reserve(counter: Counter, reservation: Reservation): Promise<Tally | undefined> {
    this.#check()
    checkCount(counter, reservation)
    const { id, amount, ceiling, now, expires } = reservation
    const account = this.open(counter, now)
    const known = account.items.get(id)
    if (known !== undefined && !known.settled) return tally(account)
    if (account.spent + account.reserved + amount > ceiling) return undefined
    account.reserved += amount
    add(account, id, { amount, settled: false, until: expires })
    return tally(account)
  }

  async settle(counter: Counter, settlement: Settlement): Promise<Tally | undefined> {
    this.#check()
    checkCount(counter, settlement)
    const { id, amount, now, until } = settlement
    const account = this.open(counter, now)
    const known = account.items.get(id)
    if (known?.settled === true) return undefined
    account.reserved -= known?.amount ?? 0
    account.spent += amount
    add(account, id, { amount: 0, settled: true, until })
    return tally(account)
  }

  async read(place: Place, now: number): Promise<Tally> {
    this.#check()
    const account = this.#accounts.get(addressOf(place))
    if (account === undefined || account.expires <= now) return NOTHING_COUNTED
    prune(account, now)
    return tally(account)
  }

  sweep(now: number, limit: number): number {
    let taken = 0
    for (const [address, account] of this.#accounts) {
      if (taken >= limit) break
      if (account.expires > now) continue
      this.#accounts.delete(address)
      taken++
    }
    return taken
  }

  clear(): void {
    this.#accounts.clear()
  }

  private open(counter: Counter, now: number): Account {
    const address = addressOf(counter)
    const known = this.#accounts.get(address)
    if (known !== undefined && known.expires > now) {
      known.expires = Math.max(known.expires, counter.expires)
      prune(known, now)
      return known
    }
    const fresh = { spent: 0, reserved: 0, expires: counter.expires, items: new Map(), earliest: Infinity }
    this.#accounts.set(address, fresh)
    return fresh
  }
}

function add(account: Account, id: string, item: Item): void {
  account.items.set(id, item)
  account.earliest = Math.min(account.earliest, item.until)
}

/** Drops reservations that were not settled in time, and forgets old settlements. */
function prune(account: Account, now: number): void {
  if (account.earliest > now) return
  account.earliest = Infinity
  for (const [id, { amount, until }] of account.items) {
    if (until > now) {
      account.earliest = Math.min(account.earliest, until)
      continue
    }
    account.reserved -= amount
    account.items.delete(id)
  }
}

function tally({ spent, reserved }: Account): Tally {
  return { spent, reserved }
}

function addressOf({ namespace, owner, key }: Place): string {
  return `${namespace} ${owner} ${key}`
}

interface Book {
  readonly entries: Entry[]
  /** How many of the oldest had to make room. */
  gone: number
}

/** Ledgers of this process: as many entries as are allowed, the newest ones. */
export class MemoryLedger implements Ledger {
  readonly #books = new Map<string, Book>()
  readonly #maxEntries: number
  readonly #check: () => void

  constructor(maxEntries: number, check: () => void) {
    this.#maxEntries = maxEntries
    this.#check = check
  }

  async append(namespace: string, owner: string, value: Uint8Array): Promise<number> {
    this.#check()
    checkPlace({ namespace, owner, key: '-' })
    checkValue(value)
    const book = this.#books.get(namespace) ?? { entries: [], gone: 0 }
    this.#books.set(namespace, book)
    const sequence = book.gone + book.entries.length + 1
    book.entries.push({ sequence, owner, value: Buffer.from(value) })
    // A tenth at a time: taking the first one out moves all others.
    if (book.entries.length > this.#maxEntries)
      book.gone += book.entries.splice(0, Math.ceil(this.#maxEntries / 10)).length
    return sequence
  }

  async entries(
    namespace: string,
    { after = 0, limit }: { readonly after?: number; readonly limit: number },
  ): Promise<readonly Entry[]> {
    this.#check()
    const book = this.#books.get(namespace)
    if (book === undefined) return []
    const from = Math.max(0, after - book.gone)
    return book.entries.slice(from, from + limit)
  }

  clear(): void {
    this.#books.clear()
  }
}
