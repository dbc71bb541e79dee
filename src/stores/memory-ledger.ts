import { checkPlace, checkValue, type Entry, type Ledger } from '../core/store.js'

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
