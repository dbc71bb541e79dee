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
import type { OpenJournal, OpenReceipt } from './receipt.js'

/** What is counted for metrics. */
type Counted = 'written' | 'dropped' | 'refused' | 'failed_writes'

/** The journal of the process, and what seals content. */
export class ReceiptsService implements Service {
  readonly #kernel: Kernel
  #config: ReceiptsConfig | undefined
  #current: OpenJournal | undefined
  /** By their places: also those of former configurations, until the requests that began under them have ended. */
  readonly #journals = new Map<string, OpenJournal>()
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
    const former = this.#current
    this.#current = receipts && this.#journalOf(receipts)
    if (receipts !== undefined && this.#current !== undefined) this.#current.keep = receipts.keep
    if (former !== undefined) this.#closeUnused(former)
  }

  #journalOf(receipts: ReceiptsConfig): OpenJournal {
    const to = JSON.stringify(receipts.to)
    const found = this.#journals.get(to)
    if (found !== undefined) return found
    const keep = (): number => open.keep
    const open: OpenJournal = {
      journal: this.#open(shelfOf(receipts, this.#kernel), keep),
      ...{ to, keep: receipts.keep, requests: 0 },
    }
    this.#journals.set(to, open)
    return open
  }

  #open(shelf: Shelf, keep: () => number): Journal {
    const { number } = this.#kernel.peers
    const say: Kernel['onNotice'] = (...notice) => this.#kernel.onNotice(...notice)
    return new Journal(shelf, {
      slot: number === 0 ? 'gateway' : `worker${number}`,
      keep,
      onCount: (what, count) => this.onCount(what, count),
      onFault: error => {
        if (error === undefined) say({}, 'receipts are written again', 'info')
        else say({ error: error.message }, 'receipts cannot be written; they wait in memory')
      },
      onLeft: error => say({ error: error.message }, 'content of receipts is over its time, and cannot be removed'),
      onLost: count => say({ receipts: count }, 'receipts are lost: they could not be written before the end'),
      onFormer: ({ end, torn }) => {
        if (torn > 0) say({ chain: end.chain, bytes: torn }, 'the last receipt of the process before is unfinished')
      },
    })
  }

  #closeUnused(open: OpenJournal): void {
    if (open === this.#current || open.requests > 0) return
    this.#journals.delete(open.to)
    const closed = open.journal.close().finally(() => this.#closing.delete(closed))
    this.#closing.add(closed)
  }

  get seals(): boolean {
    return this.#sealer !== undefined
  }

  /** Whether a new request might have no receipt, and must have one. What room is left is for those in flight. */
  get isFull(): boolean {
    return this.#config?.when_full === 'refuse' && this.#current?.journal.isFull === true
  }

  /** A request begins whose receipt is written where its configuration says, also after a reload. */
  begin(receipts: ReceiptsConfig): OpenJournal {
    const open = this.#journalOf(receipts)
    open.requests++
    return open
  }

  write(call: Call, receipt: OpenReceipt): void {
    const at = Date.now()
    const { captured } = receipt
    const sealed = captured && this.#sealer?.seal(captured, call.id, at)
    // A reload may have taken the key away.
    captured?.release()
    const content = sealed && { until: sealed.place.until, line: sealed.line }
    const open = receipt.journal ?? this.#current
    open?.journal.add(receipt.text(call, at, sealed?.place), at, content)
    if (receipt.journal === undefined) return
    receipt.journal.requests--
    this.#closeUnused(receipt.journal)
  }

  /** A task has ended and was charged for, after its request. */
  taskCharged(record: Omit<LedgerRecord, 'charges'>): void {
    const { at, id, key, group, model, target, upstream, route, units, cost, outcome, generation } = record
    const draft = { kind: 'task', at, id, key, group, model, target, upstream, route, units, cost, outcome, generation }
    this.#current?.journal.add(JSON.stringify(draft), at)
  }

  async close(): Promise<void> {
    await Promise.all([...this.#closing, ...[...this.#journals.values()].map(({ journal }) => journal.close())])
  }
}

function shelfOf({ to }: ReceiptsConfig, kernel: Kernel): Shelf {
  return to.type === 'folder' ? new Folder(to.path) : new Shelved(kernel.store)
}
