import type t from 'tap'
import type { Draft, Store, StoredRecord } from '../../src/core/store.js'

export type Asserts = Pick<typeof t, 'comment' | 'equal' | 'match' | 'not' | 'ok' | 'rejects' | 'same'>

/** Time that a test sets itself, milliseconds since the epoch. */
export interface Clock {
  now: number
}

/** Returns what opens clients of one empty store; they take the time from the clock and are closed when the test ends. */
export type StoreClients = (test: Pick<typeof t, 'teardown'>, clock: Clock) => () => Promise<Store>

/** Declares one behaviour, to be shown on an empty store; `again` opens another client of it. */
export type Check = (
  title: string,
  run: (t: Asserts, store: Store, clock: Clock, again: () => Promise<Store>) => Promise<void>,
) => void

export const START = 1_800_000_000_000
export const HOUR = 3_600_000

/** A record of `ann` among `things`, made at the start and good for an hour. */
export function draft(key: string, parts: Partial<Draft> = {}): Draft {
  const value = Buffer.from(`value of ${key}`)
  return { namespace: 'things', owner: 'ann', key, created: START, expires: START + HOUR, value, ...parts }
}

export function text(record: StoredRecord | undefined): string | undefined {
  return record === undefined ? undefined : Buffer.from(record.value).toString()
}

export async function made(store: Store, one: Draft): Promise<StoredRecord> {
  const record = await store.create(one)
  if (record === undefined) throw new Error('the key is taken')
  return record
}

export function plain(record: StoredRecord | undefined): object | undefined {
  return record && { ...record, value: [...record.value] }
}

export function keys(records: readonly StoredRecord[]): string[] {
  return records.map(record => record.key)
}
