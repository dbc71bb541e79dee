import { type Store, type StoredRecord, StoreError } from '../../core/store.js'

const PLACE = { namespace: 'key-revisions', owner: 'gateway', key: 'latest' } as const
const NEVER_EXPIRES_MS = Date.UTC(9999, 0, 1)
/** Names of the last changes that are kept; whoever missed more reads all keys again. */
const MAX_NAMES = 64
/** How long after an announcement its change may still be under way, milliseconds. */
export const SETTLING_MS = 5000
/** Attempts of a writer whose record others change at the same time. */
const MAX_TRIES = 50

/** Which keys have changed last: the one record that all processes on a store look at. */
export interface Revision {
  /** Counts changes up from 1; 0: there was none. */
  readonly number: number
  /** Names of the last changes, the newest first: the first one belongs to `number`. */
  readonly names: readonly string[]
  /** Whether a key had terms that only a gateway with limits can keep; stays. */
  readonly counted?: boolean
}

const NO_REVISION: Revision = { number: 0, names: [] }

export async function readRevision(store: Store): Promise<Revision> {
  const record = await store.get(PLACE.namespace, PLACE.owner, PLACE.key)
  return record === undefined ? NO_REVISION : decode(record)
}

/** Announces to all processes that the key of that name changes, to one with such terms if `isCounted`. */
export async function announce(store: Store, name: string, isCounted = false): Promise<void> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const record = await store.get(PLACE.namespace, PLACE.owner, PLACE.key)
    if (record === undefined) {
      const value = encode({ number: 1, names: [name], counted: isCounted })
      const draft = { ...PLACE, created: Date.now(), expires: NEVER_EXPIRES_MS, value }
      if ((await store.create(draft)) !== undefined) return
      continue
    }
    const { number, names, counted = false } = decode(record)
    const next = { number: number + 1, names: [name, ...names].slice(0, MAX_NAMES), counted: counted || isCounted }
    const value = encode(next)
    if ((await store.replace(record, { value })) !== undefined) return
  }
  throw new StoreError('unavailable', 'too many others change keys at the same time; try again')
}

function encode(revision: Revision): Uint8Array {
  return Buffer.from(JSON.stringify(revision))
}

function decode({ value }: StoredRecord): Revision {
  return JSON.parse(Buffer.from(value).toString('utf8')) as Revision
}
