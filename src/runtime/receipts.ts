import type { LedgerRecord } from '../core/ledger.js'
import type { Plan } from '../core/plan.js'
import { dayOf } from '../core/receipt-chain.js'
import type { ReceiptsConfig, RequestReceipt } from '../core/receipts.js'
import type { Content } from '../features/content/captured.js'
import { limits } from '../features/limits/index.js'
import { ContentSealer } from '../features/receipts/capture.js'
import { receipts } from '../features/receipts/index.js'
import type { Pipeline } from '../kernel/pipeline.js'
import type { Log } from '../sinks/log.js'
import { Folder } from '../sinks/receipts/folder.js'
import type { Part, Shelf } from '../sinks/receipts/shelf.js'
import { Shelved } from '../sinks/receipts/store.js'
import { openStore } from './stores.js'

/** What tasks cost is known after their requests: they have log lines and receipts of their own. */
export function recordTasks(pipeline: Pipeline, log: Log): void {
  const [ledger, service] = [pipeline.serviceOf(limits), pipeline.serviceOf(receipts)]
  if (ledger === undefined) return
  const { onTaskCharged } = ledger
  ledger.onTaskCharged = record => {
    const { id, key, group, model, target, upstream, route, cost, generation } = record
    log.info({ id, key, group, model, target, upstream, route, cost_usd: cost / 1e6, generation }, 'task charged')
    service?.taskCharged(record)
    onTaskCharged(record)
  }
}

/** Where the receipts of a plan are, for those who look at them. */
export async function openShelf(
  { store }: Plan,
  { to }: ReceiptsConfig,
): Promise<{ readonly shelf: Shelf; close(): Promise<void> }> {
  if (to.type === 'folder') return { shelf: new Folder(to.path), close: async () => undefined }
  const opened = await openStore(store)
  return { shelf: new Shelved(opened), close: () => opened.close() }
}

/** A receipt of a request, or of a task that has ended. */
export type ShownReceipt = Pick<RequestReceipt, 'id' | 'at' | 'outcome'> &
  Partial<Omit<RequestReceipt, 'kind'> & Pick<LedgerRecord, 'upstream'>>

export interface FoundReceipt {
  readonly part: Part
  readonly receipt: ShownReceipt
}

/** Which receipts to find; absent members do not restrict. */
interface ReceiptFilter {
  readonly id?: string
  readonly day?: string
  readonly key?: string
  readonly model?: string
  readonly status?: number
}

/** Reads receipts in the order of their days; of a day, one chain after another. */
export async function* findReceipts(shelf: Shelf, filter: ReceiptFilter): AsyncGenerator<FoundReceipt, void, void> {
  const { id, day, key, model, status } = filter
  // Most lines need not be parsed to know that they are another's.
  const needle = id === undefined ? undefined : Buffer.from(JSON.stringify(id))
  for (const part of await shelf.parts()) {
    if (day !== undefined && part.day !== day) continue
    for await (const { bytes, isWhole } of shelf.lines(part)) {
      if (!isWhole || (needle !== undefined && !bytes.includes(needle))) continue
      const receipt = receiptOf(bytes)
      if (receipt === undefined || (id !== undefined && receipt.id !== id)) continue
      if (key !== undefined && receipt.key !== key) continue
      if (model !== undefined && receipt.model !== model) continue
      if (status !== undefined && receipt.status !== status) continue
      yield { part, receipt }
    }
  }
}

function receiptOf(bytes: Buffer): ShownReceipt | undefined {
  try {
    const read = JSON.parse(bytes.toString('utf8')) as ShownReceipt & { readonly kind: string }
    return read.kind === 'request' || read.kind === 'task' ? read : undefined
  } catch {
    return undefined
  }
}

/** The captured content of a request, or why it cannot be shown. */
export async function contentOf(
  shelf: Shelf,
  { part, receipt: { id, content } }: FoundReceipt,
  { key }: ReceiptsConfig,
): Promise<Content | string> {
  if (content === undefined) return `no content of ${id} was captured`
  if (content.until < dayOf(Date.now())) return `the content of ${id} was kept until ${content.until}`
  if (key === undefined) return 'the key of captured content is missing: receipts: { key }'
  const sealer = new ContentSealer(key)
  for await (const { bytes } of shelf.contents(content.until, part.chain)) {
    if (!bytes.includes(content.sha256)) continue
    const { sha256, sealed } = JSON.parse(bytes.toString('utf8')) as {
      readonly sha256: string
      readonly sealed: string
    }
    if (sha256 !== content.sha256) continue
    return sealer.open(sealed, id) ?? `the content of ${id} was sealed with another key, or changed`
  }
  return `the content of ${id} is missing`
}
