import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { RequestReceipt } from '../../src/core/receipts.js'
import { Folder } from '../../src/sinks/receipts/folder.js'
import { type ReceiptReport, verifyReceipts } from '../../src/sinks/receipts/verify.js'

/** Members that receipts of requests or of tasks have. */
export type AnyReceipt = Omit<RequestReceipt, 'kind'> & { readonly kind: string; readonly upstream?: string }

/** All whole lines in a folder of receipts, those that begin and end files, too. */
export function linesOf(folder: string): readonly AnyReceipt[] {
  const names = readdirSync(folder).filter(name => /^\d.*\.jsonl$/.test(name))
  return names.toSorted().flatMap(name => {
    const lines = readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1)
    return lines.map(line => JSON.parse(line) as AnyReceipt)
  })
}

/** Receipts of requests and tasks. */
export function receiptsIn(folder: string): readonly AnyReceipt[] {
  return linesOf(folder).filter(({ kind }) => kind === 'request' || kind === 'task')
}

/** Waits for so many receipts. */
export async function receiptsOf(folder: string, count: number): Promise<readonly AnyReceipt[]> {
  for (;;) {
    const found = receiptsNow(folder)
    if (found.length >= count) return found
    await new Promise(resolve => setImmediate(resolve))
  }
}

function receiptsNow(folder: string): readonly AnyReceipt[] {
  try {
    return receiptsIn(folder)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

export const verifyFolder = (folder: string): Promise<ReceiptReport> => verifyReceipts(new Folder(folder))
