import type { Commit } from '../../src/core/accounts.js'

/** How long a lease lasts, milliseconds. */
export const LIFE_MS = 60_000
export const BOUND = 1e9
export const DAY = '2027-01-15'
export const ACCOUNTS = ['key:ann budget total', 'group:research budget total'] as const

/** What an entry says. */
export interface Spent {
  readonly writer: string
  readonly number: number
  readonly charges: Readonly<Record<string, number>>
}

/** The n-th commit of a writer: it spends other amounts of both accounts each time, says so in two entries, and holds more. */
export function spendingOf(writer: string, number: number): Omit<Commit, 'remembered' | 'now'> {
  const [first, second] = ACCOUNTS
  const parts: readonly Spent['charges'][] = [{ [first]: number, [second]: 2 * number }, { [first]: 7 }]
  const total = (account: string): number => parts.reduce((sum, part) => sum + (part[account] ?? 0), 0)
  const until = Date.now() + LIFE_MS
  return {
    writer,
    number,
    leases: ACCOUNTS.map(account => ({
      ...{ account, lease: writer, bound: BOUND, expires: until + 100 * LIFE_MS },
      ...{ spend: total(account), hold: 1000, until },
    })),
    entries: parts.map(charges => ({ day: DAY, value: Buffer.from(JSON.stringify({ writer, number, charges })) })),
  }
}
