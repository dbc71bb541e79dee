import { NEVER_EXPIRES_MS, type Store, type StoredRecord, StoreError } from '../../core/store.js'

const PLACE = { namespace: 'key-revisions', owner: 'gateway', key: 'latest' } as const
/** How many names of changed keys are kept; a process that missed more reads all keys again. */
const MAX_NAMES = 64
/** How long a change may take after its announcement, milliseconds. */
export const SETTLING_MS = 5000
/** Attempts of a writer that conflicts with others. */
const MAX_TRIES = 50

/** The last changes of keys: the one record that all processes on a store poll. */
export interface Revision {
  /** Counts changes from 1; 0: none yet. */
  readonly number: number
  /** Names of the changed keys, newest first: the first one belongs to `number`. */
  readonly names: readonly string[]
  /** Whether a key ever had terms that only a gateway with limits can enforce. */
  readonly counted?: boolean
}

const NO_REVISION: Revision = { number: 0, names: [] }

export async function readRevision(store: Store): Promise<Revision> {
  const record = await store.get(PLACE.namespace, PLACE.owner, PLACE.key)
  return record === undefined ? NO_REVISION : decode(record)
}

/** Announces to all processes that a key changes. `isCounted`: to terms that only a gateway with limits can enforce. */
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
