import type { StoreEvents } from '../core/store-config.js'
import { type Define, example } from './command.js'
import { coloured, EXIT, type Io, paints, print } from './io.js'
import { loadWithSecrets } from './loading.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesSource, withVariables } from './source.js'
import { examineStore, type StoreTools } from './store-check.js'

/** `gateway store check` and `gateway store migrate`: the store of a configuration, without a gateway. */
export const storeCommand: Define = (parent, io, end) => {
  const store = parent.command('store').description("check and migrate a configuration's store")
  takesSource(store.command('check'))
    .description('write, read and remove a record to see whether the store works; exit codes: 0 it does, 1 it does not')
    .argument('[file]', FILE_WORDS)
    .option('--json', 'print one object')
    .addHelpText('after', example('gateway store check', 'gateway store check gateway.yaml'))
    .action(async (file: string | undefined, options: Options) =>
      end(await withStore(fileOf(file, options), options, io, check)),
    )
  takesSource(store.command('migrate'))
    .description('migrate the store to the schema of this version, as the next start would')
    .argument('[file]', FILE_WORDS)
    .option('--json', 'print one object')
    .addHelpText('after', example('gateway store migrate'))
    .action(async (file: string | undefined, options: Options) =>
      end(await withStore(fileOf(file, options), options, io, migrate)),
    )
}

interface Options extends SourceOptions {
  readonly json?: true
}

interface Tools extends StoreTools {
  /** Prints the line, or with --json the facts. */
  say(line: string, facts: object): void
}

async function withStore(
  file: string,
  options: Options,
  io: Io,
  act: (tools: Tools) => Promise<void>,
): Promise<number> {
  const [{ plan }, { inspectStore, openStore }] = await Promise.all([
    withVariables(io, options).then(ready => loadWithSecrets(['store'], file, ready)),
    import('../runtime/stores.js'),
  ])
  const { yellow } = paints(coloured(io.stderr, io.env))
  const events: StoreEvents = {
    warn: message => print(io.stderr, `${yellow('warning:')} ${message}`),
    down: () => undefined,
    up: () => undefined,
  }
  const { store: config } = plan
  await act({
    config,
    inspect: () => inspectStore(config, { ...events, warn: () => undefined }),
    open: () => openStore(config, events),
    say: (line, facts) => print(io.stdout, options.json ? JSON.stringify({ type: config.type, ...facts }) : line),
  })
  return EXIT.ok
}

async function check({ say, ...tools }: Tools): Promise<void> {
  const { line, facts } = await examineStore(tools)
  say(line, { usable: true, ...facts })
}

async function migrate({ config, inspect, open, say }: Tools): Promise<void> {
  const before = await inspect()
  await (await open()).close()
  const after = await inspect()
  if (before === undefined || after === undefined)
    return say(`${config.type}: has no schema to migrate`, { migrated: false })
  if (before.written === after.written)
    return say(`${config.type}: schema ${after.written} already`, { migrated: false, to: after.written })
  const from = before.written === undefined ? 'nothing' : `schema ${before.written}`
  say(`${config.type}: from ${from} to schema ${after.written}`, {
    migrated: true,
    from: before.written,
    to: after.written,
  })
}
