import type { Commit, LeaseState } from '../../src/core/accounts.js'
import type { Store } from '../../src/core/store.js'

export const SPENT_ACCOUNT = 'key:ann budget total'

/** A commit of a writer that holds 5, or has spent 3 of them, which its entry says. */
export function spending(writer: string, number: 1 | 2): Commit {
  const now = Date.now()
  const until = now + 3_600_000
  const change = { account: SPENT_ACCOUNT, lease: writer, expires: until, bound: 1000, until }
  const [taken, spent] = [
    { ...change, spend: 0, hold: 5 },
    { ...change, spend: 3, hold: 0 },
  ]
  const entries = number === 1 ? [] : [{ day: '2027-01-15', value: Buffer.from(JSON.stringify({ writer, spent: 3 })) }]
  return { writer, number, remembered: until, now, leases: [number === 1 ? taken : spent], entries }
}

/** What the account says, and what its entries add up to. */
export async function sums({ accounts }: Store): Promise<{ spent: number; held: number; entries: number }> {
  const [tally = { spent: -1, held: -1 }] = await accounts.read([SPENT_ACCOUNT], Date.now())
  const entries = await accounts.entries('2027-01-15', { after: 0, limit: 10_000 })
  const sum = entries.reduce((all, { value }) => all + Number(JSON.parse(Buffer.from(value).toString()).spent), 0)
  return { spent: tally.spent, held: tally.held, entries: sum }
}

/** The commit's answer, or that it failed: then no one knows whether it happened. */
export function attempt(store: Store, commit: Commit): Promise<readonly LeaseState[] | 'failed'> {
  return store.accounts.commit(commit).catch(() => 'failed' as const)
}
