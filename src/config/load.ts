import { createHash } from 'node:crypto'
import { join, relative, sep } from 'node:path'
import type { Config, ProtocolConfig } from '../core/config.js'
import { nameIn, placeOf } from '../core/config-place.js'
import { packageRoot } from '../core/package-root.js'
import { parsePathText } from '../core/path-text.js'
import type { Problem } from '../core/problems.js'
import type { Held } from '../core/secret-managers.js'
import { readAccounting } from './accounting.js'
import { readChecks } from './checks.js'
import type { Context, SecretsMode, WithoutSecret } from './context.js'
import { withDefaultModels } from './default-models.js'
import { type Document, Site, type Spot } from './document.js'
import { egressOfNone, readEgress } from './egress.js'
import { type Entries, type Entry, gather, sectionOf } from './entries.js'
import { Files, type SourceFile } from './files.js'
import { readGroups } from './groups.js'
import { checkIdentity, limitsCallers, readIdentity } from './identity.js'
import { openUserFiles } from './include.js'
import { readKeys } from './keys.js'
import { Kinds, shippedNames } from './kinds.js'
import { lintLimits } from './limit-lints.js'
import { lint } from './lints.js'
import { Locator } from './locate.js'
import { ManagedSecrets } from './managed-secrets.js'
import { type ReadModel, readModels } from './models.js'
import { openFile } from './open.js'
import { overlaid } from './overlays.js'
import { type ParsedBefore, ParsedFiles } from './parsed-files.js'
import { type Overrides, readSettings } from './process-settings.js'
import type { RawGroup, RawKey, RawKind, RawProtocol, RawResourceKind, RawTaskKind } from './raw.generated.js'
import { checkReachable } from './reachable.js'
import { checkCapture } from './receipts.js'
import { checkRegions } from './regions.js'
import { listed, quoted, Report } from './report.js'
import { readRequestSchemas } from './request-schemas.js'
import { checkResourceKinds, resourceKindConfig } from './resource-kinds.js'
import { readResponseSchemas } from './response-schemas.js'
import { type ReadRoute, readRoutes } from './routes.js'
import { checkOtherModels, checkWhen } from './routing-names.js'
import { readManaged } from './secret-managers.js'
import { ABSENT_SECRET } from './secret-rule.js'
import { suggest } from './suggest.js'
import { checkTaskKinds, taskKindConfig } from './task-kinds.js'
import { readTask } from './tasks.js'
import { withTraceContent } from './trace-content.js'
import { checkUnpriced } from './unpriced.js'
import { type ReadUpstream, readUpstreams } from './upstreams.js'
import { type Environment, Variables } from './variables.js'
import { readFailures } from './when.js'

export interface LoadOptions {
  /** The main file, absolute or relative to the working directory; a folder of files; or the address that `text` is from. */
  readonly file: string
  readonly env: Environment
  /** What the main file holds, where it is not on disk; paths in it are relative to the folder of `file`. */
  readonly text?: Buffer
  /** In place of all files of the configuration: what they said before, the main one first. Others that they name are read. */
  readonly documents?: readonly SourceFile[]
  readonly overrides?: Overrides
  /** `leave` unless something else is said. */
  readonly secrets?: SecretsMode
  /** A secret that is taken to be gone. */
  readonly without?: WithoutSecret
  /** What is known of secrets in managers, by their ids; others are assumed to be there. */
  readonly held?: ReadonlyMap<string, Held>
  /** Folder that holds the shipped `routes/` and `schemas/`; the package's own unless a test says otherwise. */
  readonly shipped?: string
  /** Characters of YAML that may be read, shipped files left out; beyond that {@link TooMuchText} is thrown. */
  readonly mostText?: number
  /** What the load before has read. */
  readonly parsed?: ParsedBefore
}

export interface Loaded {
  /** Absent where any problem is an error. */
  readonly config: Config | undefined
  /** By file, line and column. */
  readonly problems: readonly Problem[]
  /** Absolute paths of every file that was asked for, secret and TLS files and missing ones too. */
  readonly sources: readonly string[]
  /** Folders in which files may appear that an include takes in. */
  readonly watch: readonly string[]
  /** For the next load. */
  readonly parsed: ParsedBefore
  /** The files of the configuration, the main one first; undefined where they are too large to be kept. */
  readonly documents: readonly SourceFile[] | undefined
  /**
   * sha256 in hex over all sources and variables: the same digest, the same configuration. It is the same wherever the files are,
   * and all that the command line says of the process alone.
   */
  readonly digest: string
  /** Where something of the configuration is written, for problems that are found later. */
  locate(path: string, on?: 'key' | 'value'): Spot
}

/** Reads, checks and merges a configuration. Never throws for what a file holds: that is what `problems` are for. */
export async function load(options: LoadOptions): Promise<Loaded> {
  const context: Context = {
    report: new Report(),
    variables: new Variables(options.env),
    parsed: new ParsedFiles(options.parsed),
    files: new Files(givenBy(options)),
    secrets: options.secrets ?? 'leave',
    ...(options.without === undefined ? {} : { without: options.without }),
    managed: new ManagedSecrets(options.held ?? new Map()),
    now: Date.now(),
    budget: { characters: options.mostText ?? Number.POSITIVE_INFINITY },
  }
  const file = placeOf(options.file)
  const { documents, complete, folders } = openUserFiles(
    file,
    context,
    options.documents?.map(({ path }) => path),
  )
  const [main] = documents
  const assembled = complete && main !== undefined ? assemble(main, documents, options, context) : undefined
  return {
    config: context.report.failed ? undefined : assembled?.config,
    problems: context.report.sorted(),
    sources: context.files.paths,
    watch: folders,
    digest: digest(context, options),
    parsed: context.parsed.read,
    documents: context.files.kept,
    locate: (path, on) =>
      assembled?.locator.spot(parsePathText(path) ?? [], on) ?? { position: { file, line: 1, column: 1 }, length: 1 },
  }
}

function givenBy({ documents, text, file }: LoadOptions): readonly SourceFile[] {
  return documents ?? (text === undefined ? [] : [{ path: placeOf(file), bytes: text }])
}

interface Assembled {
  readonly config: Config
  readonly locator: Locator
}

function assemble(main: Document, documents: readonly Document[], options: LoadOptions, context: Context): Assembled {
  const { report } = context
  const root = options.shipped ?? packageRoot()
  const interfaces = openInterfaces(main, join(root, 'routes'), context)
  const shipped = interfaces.flatMap(document => document ?? [])
  const [upstreamEntries, modelEntries] = [gather(documents, 'upstreams', report), gather(documents, 'models', report)]
  const { kindEntries, kinds } = readKinds(documents, root, context)
  const egress = readEgress(sectionOf(main, 'egress') ?? {}, new Site(main, ['egress']), context)
  const upstreams = readUpstreams(upstreamEntries, kinds, egress, context)
  const models = readModels(modelEntries, upstreamEntries, context)
  const callers = readCallers(documents, models, [...modelEntries.keys()], context)
  const { keys, groups, keyEntries, groupEntries } = callers
  checkRegions({ ...callers, models, upstreams }, context)
  const identity = readIdentities(main, callers, [...modelEntries.keys()], upstreams, context)
  const counted = {
    ...{ ...callers, upstreams, models, prices: gather(documents, 'prices', report) },
    counted: identity !== undefined && limitsCallers(identity),
  }
  const accounting = readAccounting(main, { ...counted, ...options.overrides }, root, context)
  const protocols = new Map([...gather(shipped, 'protocols', report), ...gather(documents, 'protocols', report)])
  const { resourceKinds, taskKinds } = readResultKinds(shipped, documents, root, context)
  const read = readAllRoutes(shipped, documents, { upstreams: upstreamEntries, resourceKinds, taskKinds }, context)
  const protocolConfigs = record(protocols, protocol => readProtocol(protocol, context))
  const priced = accounting && { ...counted, accounting, routes: read, protocols: protocolConfigs }
  checkUnpriced(priced, context)
  const routes = withDefaults(read, documents, { models, upstreams, modelNames: modelEntries }, context)
  const settings = readSettings(main, options.overrides ?? {}, context)
  checkCapture(main, settings.receipts, keyEntries, context)
  checkIdentity(identity, settings.listen, routes, section => new Site(main, [section]), context)
  const schemas = readSchemas(main, documents, routes, { ...options, shipped: root }, context)
  // Routes of an interface that could not be opened are not known: what they serve is not out of reach.
  if (!interfaces.includes(undefined)) {
    checkReachable({ upstreams, models, routes, retry: settings.retry, protocols: [...protocols.keys()] }, context)
  }
  const config: Config = {
    ...{ ...settings, ...withTraceContent(main, settings.telemetry, keys, keyEntries, context) },
    ...{ ...egressOfNone(egress), ...readManaged(main, context) },
    ...(accounting === undefined ? {} : { accounting }),
    ...{ groups, keys, ...schemas, ...(identity === undefined ? {} : { identity }) },
    checks: readChecks(main, { routes, models: modelEntries, groups }, context),
    ...{ upstreams: record(upstreams, one => one.config), models: record(models, model => model.config) },
    protocols: protocolConfigs,
    resource_kinds: record(resourceKinds, ({ value }) => resourceKindConfig(value)),
    task_kinds: record(taskKinds, ({ name, value }) => taskKindConfig(name, value)),
    routes: record(routes, route => route.config),
  }
  if (!report.failed) {
    lintLimits({ ...counted, priced, routes: [...routes.keys()] }, context)
    const entries = { modelEntries, keyEntries, kindEntries, upstreamEntries, recorded: options.overrides?.record }
    lint({ main, ...entries, models, upstreams, routes, timeouts: settings.timeouts, root }, context)
    warnEmptyConfig(main, config, context)
  }
  return {
    config,
    locator: new Locator(main, {
      ...{ keys: keyEntries, groups: groupEntries, models, resource_kinds: resourceKinds, task_kinds: taskKinds },
      ...{ protocols, routes, upstreams },
    }),
  }
}

/** Shipped routes with what the main document lays over them, and the user's own. */
function readAllRoutes(
  shipped: readonly Document[],
  documents: readonly Document[],
  known: Parameters<typeof readRoutes>[2],
  context: Context,
): ReturnType<typeof readRoutes> {
  const [main] = documents
  const all = gather(shipped, 'routes', context.report)
  const laid = main === undefined ? all : overlaid(all, main, context)
  return readRoutes(laid, gather(documents, 'routes', context.report), known, context)
}

function withDefaults(
  routes: ReturnType<typeof readRoutes>,
  documents: readonly Document[],
  known: Parameters<typeof withDefaultModels>[2],
  context: Context,
): ReturnType<typeof withDefaultModels> {
  return withDefaultModels(routes, gather(documents, 'default_models', context.report), known, context)
}

/** The user's own kinds of upstreams are checked, whether one is of them or not. */
function readKinds(
  documents: readonly Document[],
  root: string,
  context: Context,
): { readonly kindEntries: Entries<RawKind>; readonly kinds: Kinds } {
  const kindEntries = gather(documents, 'kinds', context.report)
  const kinds = new Kinds(join(root, 'routes/kinds'), kindEntries, context)
  for (const { name, site, value } of kindEntries.values()) if (value !== undefined) kinds.layers(value, site, name)
  return { kindEntries, kinds }
}

/** Kinds of resources and of task results: the shipped ones and the user's. */
function readResultKinds(
  shipped: readonly Document[],
  documents: readonly Document[],
  root: string,
  context: Context,
): { readonly resourceKinds: Entries<RawResourceKind>; readonly taskKinds: Entries<RawTaskKind> } {
  const { report } = context
  const shippedResourceKinds = gather(shipped, 'resource_kinds', report)
  const resourceKinds = new Map([...shippedResourceKinds, ...gather(documents, 'resource_kinds', report)])
  checkResourceKinds(resourceKinds, context)
  const ownTaskKinds = gather(documents, 'task_kinds', report)
  const taskKinds = new Map([...gather(openTaskKinds(root, context), 'task_kinds', report), ...ownTaskKinds])
  checkTaskKinds(ownTaskKinds, context)
  return { resourceKinds, taskKinds }
}

interface Callers {
  readonly keyEntries: Entries<RawKey>
  readonly groupEntries: Entries<RawGroup>
  readonly keys: Config['keys']
  readonly groups: Config['groups']
}

function readCallers(
  documents: readonly Document[],
  models: ReadonlyMap<string, ReadModel>,
  names: readonly string[],
  context: Context,
): Callers {
  const keyEntries = gather(documents, 'keys', context.report)
  const groupEntries = gather(documents, 'groups', context.report)
  const groups = readGroups(groupEntries, names, context)
  checkWhen(models, [...groupEntries.keys()], context)
  checkOtherModels(models, names, context)
  return { keyEntries, groupEntries, groups, keys: readKeys(keyEntries, groupEntries, names, context) }
}

function readIdentities(
  main: Document,
  { keyEntries: keys, groupEntries: groups }: Callers,
  models: readonly string[],
  upstreams: ReadonlyMap<string, ReadUpstream>,
  context: Context,
): Config['identity'] {
  const regions = new Set([...upstreams.values()].flatMap(({ config }) => config.region ?? []))
  const written = sectionOf(main, 'identity')
  return readIdentity(written, new Site(main, ['identity']), { groups, keys, models, regions }, context)
}

function readSchemas(
  main: Document,
  documents: readonly Document[],
  routes: ReadonlyMap<string, ReadRoute>,
  { overrides, shipped }: Pick<LoadOptions, 'overrides'> & { readonly shipped: string },
  context: Context,
): Pick<Config, 'schemas' | 'response_schemas'> {
  const { checks, schemas } = readResponseSchemas(main, routes, overrides?.checkResponses === true, context)
  const own = gather(documents, 'schemas', context.report)
  return { response_schemas: checks, schemas: readRequestSchemas(own, routes, schemas, shipped, context) }
}

function readProtocol({ value = {}, site }: Entry<RawProtocol>, context: Context): ProtocolConfig {
  const { task, failures, ...protocol } = value
  return {
    ...protocol,
    ...(failures === undefined ? {} : { failures: readFailures(failures) }),
    ...(task === undefined ? {} : { task: readTask(task, site.child('task'), context) }),
  }
}

/** The shipped files that `interfaces` chooses; all of them where it says nothing. `undefined` for one that is not there. */
function openInterfaces(main: Document, folder: string, context: Context): readonly (Document | undefined)[] {
  const names = shippedNames(folder)
  const chosen = sectionOf(main, 'interfaces') ?? names
  return chosen.map((name, index) => {
    if (names.includes(name)) return openFile(join(folder, `${name}.yaml`), 'routes', true, context)
    const site = new Site(main, ['interfaces', index])
    const message = `no interface is called ${quoted(name)}; there are: ${listed(names) ?? 'none'}`
    context.report.error('dangling-reference', site, message, { meant: () => suggest(name, names) })
    return undefined
  })
}

/** Kinds of tasks that come with the gateway: they are there whichever interfaces are chosen. */
function openTaskKinds(root: string, context: Context): readonly Document[] {
  const folder = join(root, 'routes/tasks')
  return shippedNames(folder).flatMap(name => openFile(join(folder, `${name}.yaml`), 'routes', true, context) ?? [])
}

/** A configuration without keys, or with nothing that they lead to, is valid and of no use. */
function warnEmptyConfig(main: Document, { keys, models, routes, store }: Config, { report }: Context): void {
  const refused = 'so every request gets 401'
  const absent = Object.values(keys).every(key => key.secrets.length === 0)
  if (Object.keys(keys).length === 0) {
    const cure = 'add keys: { me: { secret: { env: GATEWAY_KEY, generate: true } } }'
    const message =
      store.type === 'memory'
        ? `there are no keys, ${refused}: ${cure}`
        : `the files have no keys, ${refused} unless its key is in the store (gateway keys create NAME): ${cure}`
    report.warn('no-keys', new Site(main, []), message)
  } else if (absent) {
    const missing = Object.values(keys).flatMap(key => key.absent ?? [])
    const reasons =
      listed(missing) ?? (missing.length === 0 ? 'all are disabled' : 'none of their secrets is available')
    const rule = missing.length === 0 ? 'no-keys' : ABSENT_SECRET
    report.warn(rule, new Site(main, ['keys']), `no key can be used, ${refused}: ${reasons}`, { on: 'key' })
  }
  if (Object.keys(models).length === 0 && !Object.values(routes).some(route => route.upstream !== undefined)) {
    report.warn('no-models', new Site(main, []), 'there are no models, so no request can be served')
  }
}

function record<T, V>(entries: ReadonlyMap<string, T>, value: (entry: T) => V): Record<string, V> {
  const result: Record<string, V> = Object.create(null)
  for (const [name, entry] of entries) result[name] = value(entry)
  return result
}

function digest({ files, variables, managed: { digests } }: Context, options: LoadOptions): string {
  const { shipped: root = packageRoot(), overrides: { counted, record: recorded } = {} } = options
  const [source, shipped] = [placeOf(options.file), join(root, sep)]
  const named = files.digests.map(([path, sum]) => [
    path.startsWith(shipped) ? `shipped ${relative(root, path)}` : nameIn(source, path),
    sum,
  ])
  const parts = JSON.stringify([named.sort(byName), variables.used, { counted, recorded }, ...(digests ?? [])])
  return createHash('sha256').update(parts).digest('hex')
}

function byName([one = '']: readonly string[], [other = '']: readonly string[]): number {
  return one < other ? -1 : 1
}
