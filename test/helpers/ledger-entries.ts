import type { Accounts } from '../../src/core/accounts.js'
import type { LedgerRecord } from '../../src/core/ledger.js'

/** When the first test entry was written: a moment of the middle of this day. */
export const NOON = Date.UTC(2026, 10, 3, 12)

export function record(id: string, parts: Partial<LedgerRecord> = {}): LedgerRecord {
  return {
    id: `${id}/1`,
    at: NOON,
    key: 'alice',
    model: 'm-1',
    upstream: 'north',
    route: 'POST /v1/chat/completions',
    units: { input: 1000, output: 10 },
    cost: 2500,
    outcome: 'ok',
    generation: 1,
    charges: {},
    ...parts,
  }
}

/** Writes records as a gateway does, each with what it charged; `lost` says which accounts miss their charge. */
export async function write(
  accounts: Accounts,
  writer: string,
  records: readonly LedgerRecord[],
  { lost = [], day }: { readonly lost?: readonly string[]; readonly day?: string } = {},
): Promise<void> {
  let number = 0
  for (const one of records) {
    const leases = Object.entries(one.charges)
      .filter(([account]) => !lost.includes(account))
      .map(([account, spend]) => ({
        ...{ account, expires: Date.now() + 86_400_000, bound: Number.MAX_SAFE_INTEGER, lease: writer },
        ...{ spend, hold: 0, until: Date.now() + 60_000 },
      }))
    const entry = {
      day: day ?? new Date(one.at).toISOString().slice(0, 10),
      value: Buffer.from(JSON.stringify(one)),
    }
    const now = Date.now()
    number++
    await accounts.commit({ writer, number, remembered: now + 60_000, now, leases, entries: [entry] })
  }
}
