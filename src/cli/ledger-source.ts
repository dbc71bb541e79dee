import type { Plan } from '../core/plan.js'
import type { LedgerStore } from '../runtime/ledger-store.js'

/** Runs a command on the ledger of a plan's store. Throws StartError or StoreError where it cannot be read. */
export async function withLedger(plan: Plan, work: (ledger: LedgerStore) => Promise<number>): Promise<number> {
  const { LedgerStore } = await import('../runtime/ledger-store.js')
  const ledger = await LedgerStore.open(plan)
  try {
    return await work(ledger)
  } finally {
    await ledger.close()
  }
}

/** Millionths of a USD as USD, exactly: `0.000123`. */
export function usd(millionths: number): string {
  const sign = millionths < 0 ? '-' : ''
  const digits = String(Math.abs(millionths)).padStart(7, '0')
  return `${sign}${digits.slice(0, -6)}.${digits.slice(-6)}`
}
