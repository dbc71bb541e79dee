import type { SecretsMode, WithoutSecret } from '../config/context.js'
import type { SourceFile } from '../config/files.js'
import { type Loaded, load } from '../config/load.js'
import { TooMuchText } from '../config/open.js'
import type { ParsedBefore } from '../config/parsed-files.js'
import { compileSchema } from '../config/schemas.js'
import type { Config } from '../core/config.js'
import type { LogFormat, LogLevel } from '../core/log-config.js'
import type { Problem } from '../core/problems.js'
import type { Secret } from '../core/secret.js'
import type { Held } from '../core/secret-managers.js'
import { atOnce, inSlices, type Steps } from '../core/steps.js'
import type { WorkerCount } from '../core/worker-count.js'
import { Egress } from '../net/egress.js'
import { type Compiled, type CompiledPlan, compiling, type Tools } from '../plan/compile.js'
import type { SecretKeeper } from './managed-secrets.js'
import type { Order, Settings } from './reading/messages.js'
import { unwrap } from './reading/parcel.js'
import { Reader } from './reading/reader.js'
import { moduleProblems } from './user-modules.js'

export interface Overrides {
  readonly host?: string
  readonly port?: number
  readonly logLevel?: LogLevel
  readonly logFormat?: LogFormat
  /** Of the admin listener; 0: none. */
  readonly adminPort?: number
  readonly workers?: WorkerCount
  /** Whether keys of the store have limits: then requests are counted, also if the file has none. */
  readonly counted?: boolean
  /** Prices are what is asked for: then the shipped ones are there, also if nothing is counted. */
  readonly priced?: boolean
  /** Every answer is compared with its schema. */
  readonly checkResponses?: boolean
}

export interface LoadOptions {
  /** The configuration file, absolute or relative to the working directory. */
  readonly file: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** What the file holds, where it is not on disk. */
  readonly text?: Buffer
  /** What all its files said before: see `config/load.ts`. */
  readonly documents?: readonly SourceFile[]
  /** Settings of the command line; they win over the file. */
  readonly overrides?: Overrides
  /** What becomes of secrets that are not there; see `config/context.ts`. */
  readonly secrets?: SecretsMode
  readonly without?: WithoutSecret
  /** Fetches secrets of managers. Absent: nothing is fetched, and they are assumed to be there. */
  readonly keeper?: SecretKeeper
  /** What is known of them where nothing is fetched. */
  readonly held?: ReadonlyMap<string, Held>
  /** Modules of the user's own are loaded, to see whether they are what they should be. Absent: they are only read. */
  readonly loadsModules?: true
  /** Returns the generated key of that name, created on first start; absent if keys must not be created (`validate`). */
  readonly generated?: (keyName: string, dataFolder: string) => Secret | undefined
}

export interface LoadedPlan {
  /** Undefined where any problem is an error. */
  readonly plan: CompiledPlan | undefined
  readonly config: Config | undefined
  readonly problems: readonly Problem[]
  /** Files to watch. */
  readonly sources: readonly string[]
  /** Folders in which new files may appear. */
  readonly watch: readonly string[]
  readonly digest: string
  /** What large files say, for the next load. */
  readonly parsed: ParsedBefore
  /** The files of the configuration, the main one first; undefined where they are too large to be kept. */
  readonly documents: readonly SourceFile[] | undefined
}

/** A plan in service, and what it was compiled from. */
export interface Running {
  readonly plan: CompiledPlan
  readonly config: Config
}

/** A plan, and where each part of the configuration is written. */
export interface LocatedPlan extends LoadedPlan {
  readonly locate: Loaded['locate']
}

/** For commands that find problems of their own. What `locate` knows is as large as the files. */
export async function loadLocated(options: LoadOptions): Promise<LocatedPlan> {
  const loaded = await loadWhole(options)
  return { ...(await compiled(loaded, options, atOnce)), locate: loaded.locate }
}

/** File to plan: what `validate` does, and `serve` before it starts. */
export async function loadPlan(options: LoadOptions): Promise<LoadedPlan> {
  return compiled(await loadWhole(options), options, atOnce)
}

/** Files are read again once their secrets are known. */
async function loadWhole(options: LoadOptions): Promise<Loaded> {
  const { secrets = 'leave', without } = options
  const fixed = { secrets, ...(without === undefined ? {} : { without }) }
  const read = (): Promise<Loaded> => load({ ...orderOf(options), ...fixed })
  const loaded = await read()
  return (await hasFetched(loaded.config, options)) ? read() : loaded
}

/** Fetches the secrets that a configuration has in managers. Resolves with whether one of them is another than before. */
async function hasFetched(
  config: Pick<Config, 'managed' | 'egress'> | undefined,
  { keeper }: Pick<LoadOptions, 'keeper'>,
): Promise<boolean> {
  if (config === undefined || keeper === undefined) return false
  return await keeper.fetch(config.managed, wayToManagers(config))
}

/** Undefined: as the system has it. */
function wayToManagers({ managed, egress }: Pick<Config, 'managed' | 'egress'>): Egress | undefined {
  const { tls } = managed?.managers ?? {}
  if (tls === undefined) return egress && new Egress(egress)
  return new Egress({ pool: {}, ...egress, tls: { ...egress?.tls, ...tls } })
}

/** Maximum length of YAML that is parsed without a thread: parsing it is faster than starting one (about 10 ms). */
const MAX_INLINE_CHARS = 8 * 1024

/**
 * The same beside traffic, in slices. A large configuration is read on another thread, and what has not changed is taken from
 * the running plan. Where nothing has changed at all, the plan is the running one.
 */
export async function reloadPlan(options: LoadOptions, running: Running, parsed: ParsedBefore): Promise<LoadedPlan> {
  const first = await loadSmall(options)
  if (first === undefined) return reloadLarge(options, running, parsed)
  const small = (await hasFetched(first.config, options)) ? await load(orderOf(options)) : first
  if (small.config !== undefined && small.digest === running.plan.digest) return { ...running, ...readOf(small) }
  return compiled(small, options, inSlices)
}

async function loadSmall(options: LoadOptions): Promise<Loaded | undefined> {
  try {
    return await load({ ...orderOf(options), mostText: MAX_INLINE_CHARS })
  } catch (error) {
    if (error instanceof TooMuchText) return undefined
    throw error
  }
}

async function reloadLarge(
  options: LoadOptions,
  running: Running,
  parsed: ParsedBefore,
  isAgain = false,
): Promise<LoadedPlan> {
  const reader = new Reader({ ...orderOf(options), parsed })
  try {
    const { settings, ...read } = await reader.head
    if (settings === undefined) return { ...read, plan: undefined, config: undefined }
    if (!isAgain && (await hasFetched(unwrap(settings) as Settings, options))) {
      return await reloadLarge(options, running, read.parsed, true)
    }
    if (read.digest === running.plan.digest) return { ...running, ...read }
    const config = await reader.config(settings, running.config)
    const { plan, problems } = await inSlices(compiling(config, read.digest, toolsOf(options, config), running.plan))
    return outcome(read, config, plan, await reader.located([...problems, ...(await ofModules(config, options))]))
  } finally {
    await reader.close()
  }
}

/** The plan of a configuration that another process has read and compiled before. */
export async function compileRead(
  config: Config,
  digest: string,
  tools: Pick<LoadOptions, 'generated'>,
  before?: CompiledPlan,
): Promise<CompiledPlan> {
  const { plan, problems } = await inSlices(compiling(config, digest, toolsOf(tools, config), before))
  const fault = problems.find(({ severity }) => severity === 'error')
  if (fault !== undefined) throw new Error(`${fault.path} ${fault.message}`)
  return plan
}

type Read = Omit<LoadedPlan, 'plan' | 'config'>

async function compiled(
  loaded: Loaded,
  options: LoadOptions,
  run: (steps: Steps<Compiled>) => Compiled | Promise<Compiled>,
): Promise<LoadedPlan> {
  const { config } = loaded
  if (config === undefined) return { ...readOf(loaded), plan: undefined, config }
  const { plan, problems } = await run(compiling(config, loaded.digest, toolsOf(options, config)))
  const found = [...problems, ...(await ofModules(config, options))].map(
    (problem): Problem => ({ ...problem, ...loaded.locate(problem.path) }),
  )
  return outcome(readOf(loaded), config, plan, found)
}

async function ofModules(config: Config, { loadsModules }: LoadOptions): ReturnType<typeof moduleProblems> {
  return loadsModules === true ? moduleProblems(config) : []
}

function readOf({ problems, sources, watch, digest, parsed, documents }: Loaded): Read {
  return { problems, sources, watch, digest, parsed, documents }
}

function orderOf({ file, env, overrides, text, documents, keeper, held = keeper?.held }: LoadOptions): Order {
  return {
    ...{ file, env },
    ...(overrides === undefined ? {} : { overrides }),
    ...(text === undefined ? {} : { text }),
    ...(documents === undefined ? {} : { documents }),
    ...(held === undefined ? {} : { held }),
  }
}

function toolsOf({ generated }: Pick<LoadOptions, 'generated'>, config: Config): Tools {
  return { compileSchema, generated: name => generated?.(name, config.store.path) }
}

/** Generated keys stay those of the folder that the gateway began with: another one waits for a restart. */
export function withKeysIn<Given extends LoadOptions>(folder: string, given: Given): Given {
  const { generated } = given
  return generated === undefined ? given : { ...given, generated: name => generated(name, folder) }
}

function outcome(read: Read, config: Config, plan: CompiledPlan, found: readonly Problem[]): LoadedPlan {
  const failed = found.some(problem => problem.severity === 'error')
  return { ...read, plan: failed ? undefined : plan, config, problems: [...read.problems, ...found] }
}

/** Where someone goes back, the files of now are followed as well. */
export function withFilesOfNow(loaded: LoadedPlan, now: LoadedPlan | undefined): LoadedPlan {
  if (now === undefined) return loaded
  const both = (one: readonly string[], other: readonly string[]): readonly string[] => [...new Set([...one, ...other])]
  return { ...loaded, sources: both(loaded.sources, now.sources), watch: both(loaded.watch, now.watch) }
}
