import type { LedgerRecord } from '../../src/core/ledger.js'
import { LedgerStore } from '../../src/runtime/ledger-store.js'
import type { TestGateway } from './gateway.js'

interface Ran {
  readonly gateway: Pick<TestGateway['gateway'], 'plan'>
}

/** The records in the ledger of a gateway's store, which runs meanwhile. */
export async function ledgerRecords({ gateway }: Ran): Promise<readonly LedgerRecord[]> {
  const ledger = await LedgerStore.open(gateway.plan)
  try {
    const records: LedgerRecord[] = []
    for await (const page of ledger.pages()) records.push(...page.records)
    return records
  } finally {
    await ledger.close()
  }
}
