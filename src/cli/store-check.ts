import { randomBytes } from 'node:crypto'
import { shownFile } from '../config/problems.js'
import type { Store } from '../core/store.js'
import type { SchemaFacts, StoreConfig } from '../core/store-config.js'
import { writing } from './diagnosis/files.js'
import { CommandError, EXIT } from './io.js'

/** How long the record of a check lives if the check cannot remove it, milliseconds. */
const CHECK_RECORD_TTL_MS = 60_000

/** A store that may be asked and opened. */
export interface StoreTools {
  readonly config: StoreConfig
  inspect(): Promise<SchemaFacts | undefined>
  open(): Promise<Store>
}

interface Examined {
  readonly line: string
  readonly facts: object
}

/** Writes, reads and removes a record, where the store has this version's schema already. Throws where it does not work. */
export async function examineStore({ config, inspect, open }: StoreTools): Promise<Examined> {
  const facts = await inspect()
  if (facts !== undefined && facts.written === undefined) {
    const { existing, refused } = config.type === 'file' ? await writing(config.path) : {}
    if (existing !== undefined && refused !== undefined)
      throw new CommandError(`${config.type}: ${shownFile(existing)} cannot be written (${refused})`, EXIT.failed)
    const line = `${config.type}: empty (the first start, or gateway store migrate, creates it)`
    return { line, facts: { known: facts.known } }
  }
  if (facts !== undefined && Number(facts.written) < facts.known) {
    const { written, known } = facts
    const line = `${config.type}: schema ${written}; the next start, or gateway store migrate, brings it to ${known}`
    return { line, facts: { written, known } }
  }
  const store = await open()
  try {
    const milliseconds = await roundTrip(store)
    const schema = facts === undefined ? '' : `schema ${facts.known}, `
    const line = `${config.type}: ${schema}a record was written, read and removed in ${milliseconds.toFixed(1)} ms`
    return { line, facts: { ...facts, milliseconds } }
  } finally {
    await store.close()
  }
}

async function roundTrip(store: Store): Promise<number> {
  const since = performance.now()
  const now = Date.now()
  const place = { namespace: 'checks', owner: 'gateway', key: randomBytes(8).toString('hex') }
  await store.create({ ...place, created: now, expires: now + CHECK_RECORD_TTL_MS, value: Buffer.from('check') })
  const found = await store.get(place.namespace, place.owner, place.key)
  await store.delete(place)
  if (found === undefined) throw new CommandError('the store did not return the record that was written', EXIT.failed)
  return performance.now() - since
}
