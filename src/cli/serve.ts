import { constants } from 'node:os'
import { Option } from 'commander'
import { isAddress } from '../core/config-place.js'
import { LOG_FORMATS, LOG_LEVELS, type LogFormat, type LogLevel } from '../core/log-config.js'
import { reloadSignals } from '../core/platform.js'
import type { RecordOverride } from '../core/recording.js'
import type { Secret } from '../core/secret.js'
import { ownProcess } from '../core/stray-faults.js'
import type { WorkerCount } from '../core/worker-count.js'
import type { StartOptions } from '../runtime/gateway.js'
import type { Serving } from '../runtime/start.js'
import type { ShowKey } from './banner.js'
import { type Define, example, poll, port, workers } from './command.js'
import { coloured, EXIT, type Io, print } from './io.js'
import { givenText, invalid, printProblems } from './loading.js'
import { type ServiceManager, serviceManager } from './service-manager.js'
import type { KeptKey } from './serving.js'
import { nextTwoSignals, SIGNAL_STATUS, type Signals } from './signals.js'
import { FILE_WORDS, fileOf, type SourceOptions, takesAddress, takesSource, withVariables } from './source.js'

interface ServeOptions extends SourceOptions {
  readonly port?: number
  readonly host?: string
  readonly adminPort?: number
  readonly workers?: WorkerCount
  readonly logLevel?: LogLevel
  readonly logFormat?: LogFormat
  readonly watch: boolean
  readonly showKey?: boolean
  readonly record?: RecordOverride
}

/** Warnings that a start prints; each has three lines. */
const MAX_WARNINGS = 3
/** Longest time that connections and handles get to close after a second signal, milliseconds. */
const FORCED_CLOSE_MS = 800

/** `gateway serve`: runs until a signal; the first one drains, the second ends at once. */
export const serveCommand: Define = (parent, io, end) => {
  takesAddress(takesSource(parent.command('serve')))
    .description('serve a configuration; SIGHUP reloads, SIGTERM drains, a second SIGTERM exits at once')
    .argument('[file]', FILE_WORDS)
    .option('--port <number>', 'port to listen on, not that of the file; 0: a free one', port)
    .option('--host <address>', 'address to listen on, instead of the one in the file')
    .option('--admin-port <number>', 'port of the admin API, instead of the one in the file; 0 switches it off', port)
    .option('--workers <number>', 'processes that serve, instead of the number in the file; auto: one a core', workers)
    .addOption(new Option('--log-level <level>', 'log level').choices(LOG_LEVELS))
    .addOption(
      new Option('--log-format <format>', 'how the log is written, instead of as the file says').choices(LOG_FORMATS),
    )
    .option('--poll <duration>', 'how often an address is asked (default: 30s)', poll)
    .option('--cache <folder>', 'keeps the last document of an address, for later starts')
    .option('--no-watch', 'do not reload when files change')
    .option('--show-key', 'always print generated keys; otherwise a terminal shows a key once, when it is created')
    .addHelpText('after', example('gateway serve', 'gateway serve gateway.yaml --port 9000 --log-level warn'))
    .action(async (file: string | undefined, options: ServeOptions) => {
      end(await serve(fileOf(file, options), options, await withVariables(io, options)))
    })
}

/** Until a signal: what `gateway record` does, too. */
export async function serve(file: string, options: ServeOptions, io: Io): Promise<number> {
  ownProcess()
  const signals = nextTwoSignals()
  const { onOpened, onStarted } = endingStart(signals)
  const starting = begin(file, options, onOpened, io)
  const reload = async (): Promise<unknown> => (await starting).gateway.reload()
  for (const signal of reloadSignals())
    process.on(signal, () => void reload().catch(error => print(io.stderr, `reload failed: ${error.message}`)))
  const { gateway, text } = await starting
  onStarted()
  const manager = serviceManager(io)
  const ended = untilEnd(gateway, signals, manager, io)
  print(io.stdout, text)
  manager.ready()
  return ended
}

async function begin(file: string, options: ServeOptions, onOpened: () => void, io: Io): Promise<Started> {
  const given = await servedText(file, io)
  const kept = new Map<string, KeptKey>()
  const shows = options.showKey === true ? 'always' : io.stdout.isTTY === true ? 'once' : 'never'
  return await start({ ...(await startOptions(file, options, kept, io)), ...given }, { kept, shows, onOpened }, io)
}

/**
 * What signals do to a start. Where nothing can listen yet the first one ends the process, and later the second one; the first
 * one drains then, as soon as the start is done. The first process of a container would not end by a signal itself.
 */
function endingStart([first, second]: Signals): { readonly onOpened: () => void; readonly onStarted: () => void } {
  let phase: 'reading' | 'opened' | 'started' = 'reading'
  const end = (signal: NodeJS.Signals): never => process.exit(SIGNAL_STATUS + constants.signals[signal])
  void first.then(signal => phase === 'reading' && end(signal))
  void second.then(signal => phase !== 'started' && end(signal))
  return {
    onOpened: () => {
      phase = 'opened'
    },
    onStarted: () => {
      phase = 'started'
    },
  }
}

/** As other commands read it; an address is followed from then on. */
async function servedText(file: string, io: Io): Promise<Partial<StartOptions>> {
  if (!isAddress(file)) return givenText(file, io)
  const { openRemote, remoteSource } = await import('./remote.js')
  return openRemote(remoteSource(file, io), io)
}

async function startOptions(
  file: string,
  { port, host, adminPort, workers, logLevel, logFormat, watch, record }: ServeOptions,
  kept: Map<string, KeptKey>,
  io: Io,
): Promise<StartOptions> {
  const { generatedKey, keyFile } = await import('../runtime/generated-keys.js')
  const note = (line: string): void => print(io.stderr, line)
  const generated = (name: string, folder: string): Secret | undefined => {
    const old = generatedKey(folder, name, false, note)
    const secret = old ?? generatedKey(folder, name, true, note)
    const made = old === undefined || kept.get(name)?.made === true
    if (secret !== undefined) kept.set(name, { secret, file: keyFile(folder, name), made })
    return secret
  }
  const overrides = {
    ...(port === undefined ? {} : { port }),
    ...(host === undefined ? {} : { host }),
    ...(adminPort === undefined ? {} : { adminPort }),
    ...(workers === undefined ? {} : { workers }),
    ...(record === undefined ? {} : { record }),
    ...(logLevel === undefined ? {} : { logLevel }),
    ...(logFormat === undefined ? {} : { logFormat }),
  }
  return { file, env: io.env, overrides, watch, generated }
}

interface Started {
  readonly gateway: Serving
  /** What to print for the user. */
  readonly text: string
}

/** The keys that the gateway made, and whether they are printed. `onOpened`: called when files and store are open. */
interface Starting {
  readonly onOpened: () => void
  readonly kept: ReadonlyMap<string, KeptKey>
  readonly shows: ShowKey
}

async function start(options: StartOptions, { kept, shows, onOpened }: Starting, io: Io): Promise<Started> {
  const [{ startServing }, { ConfigError }, { banner }] = await Promise.all([
    import('../runtime/start.js'),
    import('../runtime/problems.js'),
    import('./banner.js'),
  ])
  try {
    const gateway = await startServing(options, onOpened).catch(error => startKept(error, options, onOpened, io))
    const { plan, config, problems } = gateway.loaded
    await printProblems(problems.slice(0, MAX_WARNINGS), io.stderr, io)
    const more = problems.length - MAX_WARNINGS
    if (more > 0) print(io.stderr, `${more} more: gateway validate ${options.file}`)
    if (plan === undefined || config === undefined) throw invalid(options.file)
    const { env, fromFiles } = io
    const { origin, adminOrigin } = gateway
    const serving = { plan, config, kept, origin, adminOrigin, env, fromFiles }
    return { gateway, text: banner(serving, { colour: coloured(io.stdout, io.env), shows }) }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    await printProblems(error.problems, io.stderr, io)
    throw invalid(options.file)
  }
}

/** A configuration at an address has errors: the one that served before is used, if it was kept. */
async function startKept(error: unknown, options: StartOptions, onOpened: () => void, io: Io): Promise<Serving> {
  const { remote } = options
  const [{ startServing }, { ConfigError }] = await Promise.all([
    import('../runtime/start.js'),
    import('../runtime/problems.js'),
  ])
  if (remote === undefined || !(error instanceof ConfigError) || !(await remote.useCached())) throw error
  await printProblems(error.problems, io.stderr, io)
  print(io.stderr, `${remote.name} is not valid; the last good document is used`)
  return startServing({ ...options, text: remote.text }, onOpened)
}

async function untilEnd(gateway: Serving, [first, second]: Signals, manager: ServiceManager, io: Io): Promise<number> {
  const signal = await Promise.race([first, gateway.closed])
  // The admin API has asked for it.
  if (signal === undefined) return EXIT.ok
  manager.stopping()
  print(io.stdout, `${signal}: draining; a second signal exits at once`)
  const ended = await Promise.race([gateway.close(), second])
  if (ended === undefined) return EXIT.ok
  // Work that hangs must not keep the process alive.
  setTimeout(() => process.exit(EXIT.failed), FORCED_CLOSE_MS).unref()
  await gateway.closeNow()
  return process.exit(EXIT.failed)
}
