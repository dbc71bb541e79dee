import { randomBytes } from 'node:crypto'
import { Chain, dayOf } from '../../core/receipt-chain.js'
import type { ChainEnd, OpeningLine, ReceiptDraft } from '../../core/receipts.js'
import { BATCH_BYTES, type ContentLine, Drafts } from './drafts.js'
import type { Former, Shelf } from './shelf.js'

/** Characters of receipts and content that may wait to be written. @testonly */
export const MAX_WAITING_CHARS = 8 * 1024 * 1024
/** From here on new requests are refused if they may have no receipt: those in flight still have room. */
const REFUSED_FROM_CHARS = MAX_WAITING_CHARS / 2
/** How long receipts are gathered, milliseconds. */
const GATHER_MS = 100
/** Pause before what could not be written is written again, milliseconds. */
const RETRY_MS = 1000
/** How often content is looked for whose day is over, milliseconds. */
const CLEAN_MS = 3_600_000
/** Tries of the last receipts when the process ends. */
const LAST_TRIES = 2
const ID_BYTES = 6

type Counted = 'written' | 'dropped' | 'failed_writes'

interface Options {
  /** `worker1`: what the chains of a process and of those that follow it have in common. */
  readonly slot: string
  /** How long whole days are kept, milliseconds. */
  readonly keep: () => number
  readonly onCount: (what: Counted, number: number) => void
  /** Once when writing begins to fail, and once (undefined) when it works again. */
  readonly onFault: (error: Error | undefined) => void
  /** Once when content whose day is over cannot be removed. */
  readonly onLeft: (error: Error) => void
  /** Receipts that still could not be written when it was closed. */
  readonly onLost: (count: number) => void
  /** Called with the end of the chain that this one continues. */
  readonly onFormer: (former: Former) => void
}

/** Lines of one day that have their places and are not written yet. */
interface Batch {
  readonly day: string
  readonly lines: Uint8Array
  readonly end: ChainEnd
  /** Receipts, and what they and their content counted while they waited. */
  readonly count: number
  readonly chars: number
  /** Lines to write before them. */
  readonly contents: ContentLine[]
}

/**
 * Writes the receipts of one process to a shelf, in one chain. `add` never waits and never throws: receipts are gathered, given
 * their places, and written one batch at a time. What cannot be written waits; beyond a bound it is dropped and counted,
 * and the next receipt says how many are missing.
 */
export class Journal {
  readonly #shelf: Shelf
  readonly #options: Options
  readonly #id: string
  #chain: Chain | undefined
  #former: Former | undefined
  /** The last ones are added to. */
  readonly #waiting: Drafts[] = []
  #spare: Buffer | undefined
  /** Of all that wait, and of the batch. */
  #chars = 0
  /** Receipts that were dropped since the last one that has a place. */
  #lost = 0
  #batch: Batch | undefined
  /** Of the file that is written. */
  #day = ''
  #running: Promise<void> | undefined
  #timer: NodeJS.Timeout | undefined
  readonly #cleaning: NodeJS.Timeout
  /** Whether content is there whose day is over. */
  #isLeft = false
  /** Removes old days, once the line is written that says so. */
  #drop: (() => Promise<void>) | undefined
  #isFailing = false
  #isClosing = false

  constructor(shelf: Shelf, options: Options) {
    this.#shelf = shelf
    this.#options = options
    this.#id = `${options.slot}-${randomBytes(ID_BYTES).toString('hex')}`
    this.#cleaning = setInterval(() => this.#clean(), CLEAN_MS).unref()
    this.#clean()
  }

  get chain(): string {
    return this.#id
  }

  /** Whether so much waits that a new request may have no receipt. */
  get isFull(): boolean {
    return this.#chars > REFUSED_FROM_CHARS
  }

  /** `draft`: JSON of a receipt without its place. `at`: its moment, milliseconds since the epoch. */
  add(draft: string, at: number, content?: ContentLine): void {
    const size = draft.length + (content?.line.length ?? 0)
    if (this.#chars + size > MAX_WAITING_CHARS) {
      this.#lost++
      this.#options.onCount('dropped', 1)
      return
    }
    this.#chars += size
    this.#put(draft, dayOf(at), content).receipts++
    if (!this.#isFailing) this.#later(this.#chars > BATCH_BYTES ? 0 : GATHER_MS)
  }

  #put(draft: string, day: string, content?: ContentLine): Drafts {
    const last = this.#waiting.at(-1)
    if (last?.day === day && last.add(draft, content)) return last
    const drafts = new Drafts(day, draft.length, this.#spare)
    if (drafts.bytes === this.#spare) this.#spare = undefined
    drafts.add(draft, content)
    this.#waiting.push(drafts)
    return drafts
  }

  /** Writes what waits, and that the process has ended in order. */
  async close(): Promise<void> {
    this.#isClosing = true
    clearInterval(this.#cleaning)
    clearTimeout(this.#timer)
    await this.#running
    const at = Date.now()
    if (this.#chain !== undefined || this.#waiting.length > 0) this.#put(JSON.stringify({ kind: 'end', at }), dayOf(at))
    for (let tries = 0; tries < LAST_TRIES && this.#hasMore; tries++) await this.#writeAll()
    const left = this.#waiting.reduce((sum, { receipts }) => sum + receipts, this.#batch?.count ?? 0)
    if (left > 0) {
      this.#options.onCount('dropped', left)
      this.#options.onLost(left)
    }
    await this.#shelf.close().catch(() => undefined)
  }

  /** Content is promised to be gone after its day, also if no further receipt is written. What cannot be removed now is tried again. */
  #clean(): void {
    const failed = (error: unknown): void => {
      if (!this.#isLeft) this.#options.onLeft(error instanceof Error ? error : new Error(String(error)))
      this.#isLeft = true
    }
    this.#shelf.dropContent(dayOf(Date.now())).then(() => {
      this.#isLeft = false
    }, failed)
  }

  get #hasMore(): boolean {
    return this.#waiting.length > 0 || this.#batch !== undefined
  }

  #later(milliseconds: number): void {
    if (this.#running !== undefined || this.#isClosing) return
    if (milliseconds === 0) clearTimeout(this.#timer)
    else if (this.#timer !== undefined) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#running = this.#writeAll().finally(() => {
        this.#running = undefined
        if (this.#hasMore) this.#later(this.#isFailing ? RETRY_MS : GATHER_MS)
      })
    }, milliseconds).unref()
  }

  /** Writes what there is; there must be something. */
  async #writeAll(): Promise<void> {
    try {
      do {
        await this.#shelf.prepare()
        this.#batch ??= await this.#next()
        await this.#write(this.#batch)
        this.#batch = undefined
        // What came meanwhile is gathered: each batch costs two writes, however small it is.
      } while (this.#isClosing ? this.#hasMore : this.#chars > BATCH_BYTES)
      if (this.#isFailing) this.#options.onFault(undefined)
      this.#isFailing = false
    } catch (error) {
      this.#options.onCount('failed_writes', 1)
      if (!this.#isFailing) this.#options.onFault(error instanceof Error ? error : new Error(String(error)))
      this.#isFailing = true
    }
  }

  async #write(batch: Batch): Promise<void> {
    // First, so that no receipt names content that is not there; what is written twice is found once.
    for (let next = batch.contents[0]; next !== undefined; next = batch.contents[0]) {
      await this.#shelf.keepContent(next.until, this.#id, next.line)
      batch.contents.shift()
    }
    await this.#shelf.append({ day: batch.day, chain: this.#id }, batch.lines, batch.end)
    this.#chars -= batch.chars
    await this.#drop?.().catch(() => undefined)
    this.#drop = undefined
    this.#options.onCount('written', batch.count)
  }

  /** A file begins with a line of its own, and old ones are removed then. */
  async #next(): Promise<Batch> {
    const chain = this.#chain ?? (await this.#begin())
    this.#chain = chain
    const [drafts] = this.#waiting
    if (drafts === undefined) throw new Error('a batch of receipts is empty')
    // A clock that was set back does not begin a former day again.
    const day = drafts.day < this.#day ? this.#day : drafts.day
    const opening = day === this.#day ? undefined : await this.#opening(chain, day)
    this.#day = day
    this.#waiting.shift()
    const lines = drafts.link(chain, opening, { day, lost: this.#lost })
    this.#lost = 0
    if (drafts.bytes.length === BATCH_BYTES) this.#spare = drafts.bytes
    const { receipts: count, chars, contents } = drafts
    return { day, lines, end: chain.end as ChainEnd, count, chars, contents }
  }

  /** A chain that continues that of the process before. */
  async #begin(): Promise<Chain> {
    this.#former = await this.#shelf.former(this.#options.slot)
    if (this.#former !== undefined) this.#options.onFormer(this.#former)
    return new Chain(this.#id, this.#former?.end.digest)
  }

  async #opening(chain: Chain, day: string): Promise<string> {
    const at = Date.now()
    const first = dayOf(Math.max(0, Date.parse(day) - this.#options.keep()))
    const old = (await this.#shelf.parts()).filter(part => part.day < first)
    const dropped = old.at(-1)?.day
    // After the line that says so: what a crash leaves is removed the next time.
    this.#drop = () => this.#shelf.dropBefore(first)
    this.#clean()
    const { end, torn } = chain.end === undefined ? (this.#former ?? {}) : { end: chain.end, torn: 0 }
    const opening: ReceiptDraft<OpeningLine> = {
      kind: 'open',
      at,
      ...(end === undefined ? {} : { after: end }),
      ...(torn === undefined || torn === 0 ? {} : { torn }),
      ...(dropped === undefined ? {} : { dropped }),
    }
    return JSON.stringify(opening)
  }
}
