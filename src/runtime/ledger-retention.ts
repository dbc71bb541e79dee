import { DEFAULTS } from '../core/defaults.generated.js'
import type { Plan } from '../core/plan.js'
import { NEVER_EXPIRES_MS, type Store } from '../core/store.js'

/** The record that says up to which day the ledger has been dropped; written before the days are. */
const MARK = { namespace: 'ledger', owner: 'gateway', key: 'dropped' } as const
/** Processes that share a store may write the mark at once; each try is a read and a write. */
const MAX_TRIES = 10

/** How long the ledger is kept, milliseconds. Files without limits keep what earlier ones have written as long as is usual. */
export function retentionOf({ accounting }: Plan): number {
  return accounting?.ledger?.retention ?? DEFAULTS.ledger.retention
}

/** The last day, `2026-11-23`, that the ledger may lack because its time was over; undefined where none was dropped. */
export async function droppedUntil(store: Store): Promise<string | undefined> {
  const record = await store.get(MARK.namespace, MARK.owner, MARK.key)
  return record === undefined ? undefined : Buffer.from(record.value).toString('latin1')
}

/** Removes the ledger's days that ended longer ago than it is retained, whole and unread. Resolves with their number. */
export async function dropOldDays(store: Store, retentionMs: number, now: number): Promise<number> {
  const first = dayOf(now - retentionMs)
  const old = (await store.accounts.days()).filter(day => day < first).toSorted()
  const last = old.at(-1)
  if (last === undefined) return 0
  await mark(store, last, now)
  for (const day of old) await store.accounts.dropDay(day)
  return old.length
}

/** The day of a moment, UTC. */
export function dayOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString().slice(0, 10)
}

async function mark(store: Store, day: string, now: number): Promise<void> {
  const value = Buffer.from(day, 'latin1')
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const known = await store.get(MARK.namespace, MARK.owner, MARK.key)
    if (known !== undefined && Buffer.from(known.value).toString('latin1') >= day) return
    const written =
      known === undefined
        ? await store.create({ ...MARK, created: now, expires: NEVER_EXPIRES_MS, value })
        : await store.replace(known, { value })
    if (written !== undefined) return
  }
  throw new Error('the day up to which the ledger is dropped could not be written')
}
