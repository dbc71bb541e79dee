import type { Draft, Store, StoredRecord } from '../core/store.js'

type Message = [] | [string]

interface ErrorMembers {
  readonly name: string
  readonly fault?: string
}

/** What the cases ask of a test framework; `t` of tap has it. */
export interface Asserts {
  comment(text: string): void
  ok(value: unknown, ...message: Message): unknown
  equal(found: unknown, wanted: unknown, ...message: Message): unknown
  not(found: unknown, unwanted: unknown, ...message: Message): unknown
  same(found: unknown, wanted: unknown, ...message: Message): unknown
  match(found: unknown, members: Readonly<Record<string, unknown>>, ...message: Message): unknown
  rejects(promise: Promise<unknown>, members: ErrorMembers, ...message: Message): Promise<unknown>
}

/** Time that a test sets itself, milliseconds since the epoch. */
export interface Clock {
  now: number
}

type Run = (t: Asserts, store: Store, clock: Clock, again: () => Promise<Store>) => Promise<void>

/** One behaviour, to be shown on an empty store; `again` opens another client of it. */
export interface Case {
  readonly title: string
  readonly run: Run
}

/** Declares one behaviour. */
export type Check = (title: string, run: Run) => void

export const START = 1_800_000_000_000
export const HOUR_MS = 3_600_000

/** A record of `ann` among `things`, made at the start and good for an hour. */
export function draft(key: string, parts: Partial<Draft> = {}): Draft {
  const value = Buffer.from(`value of ${key}`)
  return { namespace: 'things', owner: 'ann', key, created: START, expires: START + HOUR_MS, value, ...parts }
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
