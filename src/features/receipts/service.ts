import type { LedgerRecord } from '../../core/ledger.js'
import type { Plan } from '../../core/plan.js'
import type { ReceiptsConfig } from '../../core/receipts.js'
import type { Call } from '../../kernel/call.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Service } from '../../kernel/stages.js'
import { Folder } from '../../sinks/receipts/folder.js'
import { Journal } from '../../sinks/receipts/journal.js'
import type { Shelf } from '../../sinks/receipts/shelf.js'
import { Shelved } from '../../sinks/receipts/store.js'
import { ContentSealer } from './capture.js'
import type { OpenReceipt } from './receipt.js'

/** What is counted for metrics. */
type Counted = 'written' | 'dropped' | 'refused' | 'failed_writes'

/** The journal of the process, and what seals content. */
export class ReceiptsService implements Service {
  readonly #kernel: Kernel
  #config: ReceiptsConfig | undefined
  #journal: Journal | undefined
  #sealer: ContentSealer | undefined
  /** Journals of former configurations, which write what they still have. */
  readonly #closing = new Set<Promise<void>>()
  /** Bytes of content that requests in flight hold. */
  readonly content = { held: 0 }
  onCount: (what: Counted, number: number) => void = () => undefined

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    this.adopt(kernel.generation.plan)
  }

  adopt({ receipts }: Plan): void {
    const before = this.#config
    this.#config = receipts
    if (receipts?.key?.reveal() !== before?.key?.reveal())
      this.#sealer = receipts?.key === undefined ? undefined : new ContentSealer(receipts.key)
    if (JSON.stringify(receipts?.to) === JSON.stringify(before?.to)) return
    if (this.#journal !== undefined) this.#close(this.#journal)
    this.#journal = receipts && this.#open(shelfOf(receipts, this.#kernel))
  }

  #open(shelf: Shelf): Journal {
    const { number } = this.#kernel.peers
    const say = (fields: object, message: string): void => this.#kernel.onNotice(fields, message)
    return new Journal(shelf, {
      slot: number === 0 ? 'gateway' : `worker${number}`,
      keep: () => this.#config?.keep ?? Number.POSITIVE_INFINITY,
      onCount: (what, count) => this.onCount(what, count),
      onFault: error => {
        if (error === undefined) say({}, 'receipts are written again')
        else say({ error: error.message }, 'receipts cannot be written; they wait in memory')
      },
      onFormer: ({ end, torn }) => {
        if (torn > 0) say({ chain: end.chain, bytes: torn }, 'the last receipt of the process before is unfinished')
      },
    })
  }

  #close(journal: Journal): void {
    const closed = journal.close().finally(() => this.#closing.delete(closed))
    this.#closing.add(closed)
  }

  get seals(): boolean {
    return this.#sealer !== undefined
  }

  /** Whether a new request might have no receipt, and must have one. */
  refuses(): boolean {
    if (this.#config?.when_full !== 'refuse' || this.#journal?.isFull !== true) return false
    this.onCount('refused', 1)
    return true
  }

  write(call: Call, receipt: OpenReceipt): void {
    const at = Date.now()
    const { captured } = receipt
    const sealed = captured && this.#sealer?.seal(captured, call.id, at)
    // A reload may have taken the key away.
    captured?.release()
    const content = sealed && { until: sealed.place.until, line: sealed.line }
    this.#journal?.add(receipt.text(call, at, sealed?.place), at, content)
  }

  /** A task has ended and was charged for, after its request. */
  taskCharged(record: Omit<LedgerRecord, 'charges'>): void {
    const { at, id, key, group, model, target, upstream, route, units, cost, outcome, generation } = record
    const draft = { kind: 'task', at, id, key, group, model, target, upstream, route, units, cost, outcome, generation }
    this.#journal?.add(JSON.stringify(draft), at)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#closing, this.#journal?.close()])
  }
}

function shelfOf({ to }: ReceiptsConfig, kernel: Kernel): Shelf {
  return to.type === 'folder' ? new Folder(to.path) : new Shelved(kernel.store)
}
