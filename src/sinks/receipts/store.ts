import { digestOfLine, placeOf } from '../../core/receipt-chain.js'
import type { ChainEnd } from '../../core/receipts.js'
import { NEVER_EXPIRES_MS, type Store, type StoredRecord } from '../../core/store.js'
import { type Line, linesOf } from './lines.js'
import { type Former, type Part, type Shelf, slotOf } from './shelf.js'

const LINES = 'receipts'
const PARTS = 'receipt-parts'
const ENDS = 'receipt-ends'
const CONTENT = 'receipt-content'
/** Of what belongs to no caller. */
const OWNER = 'gateway'
const DAY_MS = 86_400_000
const PAGE_RECORDS = 100
/** Digits of a line's number, so that keys are in the order of lines. */
const SEQ_DIGITS = 12

/** Receipts in the store: a record for each batch of lines, and one each for a part and for the end of a chain. */
export class Shelved implements Shelf {
  readonly #store: Store
  #part: string | undefined
  #end: StoredRecord | undefined

  constructor(store: Store) {
    this.#store = store
  }

  /** The store looks after itself. */
  async prepare(): Promise<void> {}

  async former(slot: string): Promise<Former | undefined> {
    const own = (await this.#ends()).filter(({ key }) => slotOf(key) === slot)
    const parts = await this.parts()
    for (const { key: chain } of own.toSorted((one, other) => other.created - one.created)) {
      const last = parts.filter(part => part.chain === chain).at(-1)
      const end = last && (await this.#endOf(last))
      if (end !== undefined) return { end, torn: 0 }
    }
    return undefined
  }

  /** The last line of a part, by its last record. */
  async #endOf(part: Part): Promise<ChainEnd | undefined> {
    const [record] = await this.#store.list(LINES, nameOf(part), { order: 'descending', limit: 1 })
    let end: ChainEnd | undefined
    for await (const { bytes } of linesOf(valuesOf(record))) {
      const place = placeOf(bytes)
      if (place !== undefined) end = { ...part, seq: place.seq, digest: digestOfLine(bytes) }
    }
    return end
  }

  async append(part: Part, lines: Uint8Array, end: ChainEnd): Promise<void> {
    const name = nameOf(part)
    const created = Date.parse(part.day)
    if (this.#end === undefined) await this.#mark({ ...end, seq: 0, digest: '' })
    if (this.#part !== name) {
      await this.#store.create({
        namespace: PARTS,
        owner: OWNER,
        key: name,
        created,
        expires: NEVER_EXPIRES_MS,
        value: Buffer.alloc(0),
      })
      this.#part = name
    }
    const key = String(end.seq).padStart(SEQ_DIGITS, '0')
    // There already: an earlier try succeeded, and its answer was lost.
    await this.#store.create({ namespace: LINES, owner: name, key, created, expires: NEVER_EXPIRES_MS, value: lines })
    await this.#mark(end).catch(() => undefined)
  }

  async #mark(end: ChainEnd): Promise<void> {
    const place = { namespace: ENDS, owner: OWNER, key: end.chain }
    const value = Buffer.from(JSON.stringify(end))
    this.#end = this.#end && (await this.#store.replace(this.#end, { value }))
    this.#end ??= await this.#store.create({ ...place, created: Date.now(), expires: NEVER_EXPIRES_MS, value })
    this.#end ??= await this.#store.get(ENDS, OWNER, end.chain)
  }

  async keepContent(until: string, chain: string, line: string): Promise<void> {
    const { sha256 } = JSON.parse(line) as { readonly sha256: string }
    const times = { created: Date.now(), expires: Date.parse(until) + DAY_MS }
    const place = { namespace: CONTENT, owner: `${until}.${chain}`, key: sha256 }
    await this.#store.create({ ...place, ...times, value: Buffer.from(line) })
  }

  /** Its records have expired. */
  async dropContent(): Promise<void> {}

  async dropBefore(first: string): Promise<void> {
    const parts = await this.parts()
    const left = new Set(parts.filter(({ day }) => day >= first).map(({ chain }) => chain))
    for (const part of parts.filter(({ day }) => day < first)) {
      for await (const record of this.#all(LINES, nameOf(part))) await this.#store.delete(record)
      await this.#store.delete({ namespace: PARTS, owner: OWNER, key: nameOf(part) })
      if (!left.has(part.chain)) await this.#store.delete({ namespace: ENDS, owner: OWNER, key: part.chain })
    }
  }

  async parts(): Promise<readonly Part[]> {
    const parts: Part[] = []
    for await (const { key } of this.#all(PARTS, OWNER)) {
      const dot = key.indexOf('.')
      parts.push({ day: key.slice(0, dot), chain: key.slice(dot + 1) })
    }
    return parts
  }

  lines(part: Part): AsyncIterable<Line> {
    return linesOf(mapped(this.#all(LINES, nameOf(part))))
  }

  async ends(): Promise<readonly ChainEnd[]> {
    return (await this.#ends()).map(({ key, value }) => {
      const end = JSON.parse(Buffer.from(value).toString('utf8')) as ChainEnd
      return end.chain === key ? end : { chain: key, day: '', seq: Number.NaN, digest: '' }
    })
  }

  async #ends(): Promise<readonly StoredRecord[]> {
    const ends: StoredRecord[] = []
    for await (const record of this.#all(ENDS, OWNER)) ends.push(record)
    return ends
  }

  contents(until: string, chain: string): AsyncIterable<Line> {
    return linesOf(mapped(this.#all(CONTENT, `${until}.${chain}`)))
  }

  /** The store belongs to the gateway. */
  async close(): Promise<void> {}

  async *#all(namespace: string, owner: string): AsyncGenerator<StoredRecord, void, void> {
    let after: StoredRecord | undefined
    for (;;) {
      const range = { order: 'ascending', limit: PAGE_RECORDS, ...(after !== undefined && { after }) } as const
      const page = await this.#store.list(namespace, owner, range)
      yield* page
      after = page.at(-1)
      if (page.length < PAGE_RECORDS) return
    }
  }
}

function nameOf({ day, chain }: Part): string {
  return `${day}.${chain}`
}

async function* mapped(records: AsyncIterable<StoredRecord>): AsyncGenerator<Uint8Array, void, void> {
  for await (const { value } of records) yield value
}

async function* valuesOf(record: StoredRecord | undefined): AsyncGenerator<Uint8Array, void, void> {
  if (record !== undefined) yield record.value
}
