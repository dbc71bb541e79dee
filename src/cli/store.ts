import { randomBytes } from 'node:crypto'
import type { Store } from '../core/store.js'
import type { SchemaFacts, StoreConfig, StoreEvents } from '../core/store-config.js'
import { DEFAULT_FILE, type Define, example } from './command.js'
import { CommandError, coloured, EXIT, type Io, paints, print } from './io.js'
import { mustLoad } from './loading.js'

/** How long the record of a check is kept where the check itself cannot take it out, milliseconds. */
const MINUTE = 60_000

/** `gateway store check` and `gateway store migrate`: the store of a configuration, without a gateway. */
export const storeCommand: Define = (parent, io, end) => {
  const store = parent.command('store').description('look after the store of a configuration')
  store
    .command('check')
    .description('say whether the store can be used, by writing and reading a record; exit code 0 it can, 1 it cannot')
    .argument('[file]', 'configuration file', DEFAULT_FILE)
    .addHelpText('after', example('gateway store check', 'gateway store check gateway.yaml'))
    .action(async (file: string) => end(await withStore(file, io, check)))
  store
    .command('migrate')
    .description('bring the store to the schema of this version, as the next start would')
    .argument('[file]', 'configuration file', DEFAULT_FILE)
    .addHelpText('after', example('gateway store migrate'))
    .action(async (file: string) => end(await withStore(file, io, migrate)))
}

interface Tools {
  readonly config: StoreConfig
  inspect(): Promise<SchemaFacts | undefined>
  open(): Promise<Store>
  say(line: string): void
}

async function withStore(file: string, io: Io, act: (tools: Tools) => Promise<void>): Promise<number> {
  const [{ plan }, { inspectStore, openStore }] = await Promise.all([
    mustLoad(file, io),
    import('../runtime/stores.js'),
  ])
  const { yellow } = paints(coloured(io.stderr, io.env))
  const events: StoreEvents = {
    warn: message => print(io.stderr, `${yellow('warning:')} ${message}`),
    down: () => undefined,
    up: () => undefined,
  }
  const { store: config } = plan
  try {
    await act({
      config,
      inspect: () => inspectStore(config, { ...events, warn: () => undefined }),
      open: () => openStore(config, events),
      say: line => print(io.stdout, line),
    })
    return EXIT.ok
  } catch (error) {
    const known = error instanceof Error && ['StartError', 'StoreError'].includes(error.name)
    throw known ? new CommandError(error.message, EXIT.failed) : error
  }
}

async function check({ config, inspect, open, say }: Tools): Promise<void> {
  const facts = await inspect()
  if (facts !== undefined && facts.written === undefined) {
    return say(`${config.type}: nothing is there yet (the first start, or gateway store migrate, makes it)`)
  }
  if (facts !== undefined && Number(facts.written) < facts.known) {
    const { written, known } = facts
    return say(`${config.type}: schema ${written}; the next start, or gateway store migrate, brings it to ${known}`)
  }
  const store = await open()
  try {
    const milliseconds = await roundTrip(store)
    const schema = facts === undefined ? '' : `schema ${facts.known}, `
    say(`${config.type}: ${schema}a record was written, read and removed in ${milliseconds.toFixed(1)} ms`)
  } finally {
    await store.close()
  }
}

async function migrate({ config, inspect, open, say }: Tools): Promise<void> {
  const before = await inspect()
  await (await open()).close()
  const after = await inspect()
  if (before === undefined || after === undefined) return say(`${config.type}: has no schema to migrate`)
  if (before.written === after.written) return say(`${config.type}: schema ${after.written} already`)
  const from = before.written === undefined ? 'nothing' : `schema ${before.written}`
  say(`${config.type}: from ${from} to schema ${after.written}`)
}

async function roundTrip(store: Store): Promise<number> {
  const since = performance.now()
  const now = Date.now()
  const place = { namespace: 'checks', owner: 'gateway', key: randomBytes(8).toString('hex') }
  await store.create({ ...place, created: now, expires: now + MINUTE, value: Buffer.from('check') })
  const found = await store.get(place.namespace, place.owner, place.key)
  await store.delete(place)
  if (found === undefined) throw new CommandError('the store does not give back what it was given', EXIT.failed)
  return performance.now() - since
}
