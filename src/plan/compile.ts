import type { Scope, ScopeType } from '../core/bounds.js'
import type { Config } from '../core/config.js'
import { EXPOSED, type Exposed } from '../core/exposed.js'
import type { Match, Miss, Plan, Route, Shown, Upstream } from '../core/plan.js'
import type { Secret } from '../core/secret.js'
import type { Steps } from '../core/steps.js'
import { routingOf } from '../core/strategy.js'
import { taskKind } from '../core/task-kind.js'
import { compileAdmin, compileKeys, type DigestRing } from './keys.js'
import { ModelIndex } from './model-index.js'
import { ModelCatalog } from './models.js'
import { parsePattern, prefixed } from './pattern.js'
import { Policies } from './policies.js'
import { type CompileProblem, Problems } from './problems.js'
import { Regions } from './regions.js'
import { Router } from './router.js'
import { RouteCompiler } from './routes.js'
import type { CompileSchema } from './schemas.js'
import { OffList } from './switched-off.js'
import { Tariffs } from './tariffs.js'
import { compileUpstreams } from './upstreams.js'
import { compileVerbs } from './verbs.js'

/** What compiling needs of its surroundings. */
export interface Tools {
  /** Throws where the schema is not one. */
  readonly compileSchema: CompileSchema
  /** The key that the gateway made for a caller's key of that name; none where it is not to make any. */
  readonly generated: (keyName: string) => Secret | undefined
}

export interface Compiled {
  /** Fit to be served only where no problem is an error. */
  readonly plan: CompiledPlan
  readonly problems: readonly CompileProblem[]
}

/** The plan with what `explain` tells beyond it. */
export class CompiledPlan implements Plan {
  readonly digest: string
  readonly listen: Plan['listen']
  readonly limits: Plan['limits']
  readonly store: Plan['store']
  readonly spool: Plan['spool']
  readonly log: Plan['log']
  readonly features: Plan['features']
  readonly exposing: Plan['exposing']
  readonly transport: Plan['transport']
  readonly overload: Plan['overload']
  readonly workers: Plan['workers']
  readonly media: Plan['media']
  readonly tasks: Plan['tasks']
  readonly webhooks: Plan['webhooks']
  readonly reload?: NonNullable<Plan['reload']>
  readonly receipts?: NonNullable<Plan['receipts']>
  readonly record?: NonNullable<Plan['record']>
  readonly checks: Plan['checks']
  readonly telemetry: Plan['telemetry']
  readonly identity: Plan['identity']
  readonly learnsHealth: boolean
  readonly egress: Plan['egress']
  readonly hasRegions: boolean
  readonly admin: Plan['admin']
  readonly accounting: Plan['accounting']
  readonly keys: DigestRing
  readonly models: ModelCatalog
  readonly off: Plan['off']
  readonly routes: readonly Route[]
  readonly upstreams: ReadonlyMap<string, Upstream>
  readonly hasRouting: boolean
  readonly hasHedges: boolean
  readonly mirrors: Plan['mirrors']
  readonly canaries: Plan['canaries']
  readonly taskKinds: Plan['taskKinds']
  readonly policies: Policies
  readonly tariffs: Tariffs | undefined
  readonly #router: Router

  constructor(
    config: Config,
    digest: string,
    parts: Pick<
      CompiledPlan,
      | 'admin'
      | 'keys'
      | 'models'
      | 'off'
      | 'routes'
      | 'upstreams'
      | 'hasRouting'
      | 'hasHedges'
      | 'mirrors'
      | 'canaries'
      | 'taskKinds'
      | 'policies'
      | 'tariffs'
    >,
    router: Router,
  ) {
    this.digest = digest
    this.listen = config.listen
    this.limits = config.limits
    this.store = config.store
    this.spool = config.spool
    this.log = config.log
    this.features = config.features
    this.exposing = exposing(config)
    this.transport = config.transport
    this.overload = config.overload
    this.workers = config.workers
    this.media = config.media
    this.tasks = config.tasks
    this.webhooks = config.webhooks
    if (config.reload !== undefined) this.reload = config.reload
    if (config.receipts !== undefined) this.receipts = config.receipts
    if (config.record !== undefined) this.record = config.record
    this.checks = config.checks
    this.telemetry = config.telemetry
    this.identity = config.identity
    this.learnsHealth = learnsHealth(config)
    this.egress = config.egress
    this.admin = parts.admin
    this.accounting = config.accounting
    this.policies = parts.policies
    this.hasRegions = parts.policies.regions.names.size > 0
    this.tariffs = parts.tariffs
    this.keys = parts.keys
    this.models = parts.models
    this.off = parts.off
    this.routes = parts.routes
    this.upstreams = parts.upstreams
    this.hasRouting = parts.hasRouting
    this.hasHedges = parts.hasHedges
    this.mirrors = parts.mirrors
    this.canaries = parts.canaries
    this.taskKinds = parts.taskKinds
    this.#router = router
  }

  match(method: string, path: string, headers?: Shown): Match | Miss {
    return this.#router.match(method, path, headers)
  }

  scopeOf(type: ScopeType, name: string): Scope | undefined {
    if (type === 'model' || type === 'upstream') return this.tariffs?.scopeOf(type, name)
    const holder = type === 'group' ? this.policies.groups.get(name) : this.keys.holderOf(name)?.caller.policy
    return holder?.scopes.find(scope => scope.type === type && scope.name === name)
  }
}

/**
 * Turns a checked configuration into what the kernel reads, in steps. Reports all problems at once and throws none of them.
 * What is the same as in the plan `before`, of the very same objects, is taken from there.
 */
export function* compiling(config: Config, digest: string, tools: Tools, before?: CompiledPlan): Steps<Compiled> {
  const problems = new Problems()
  const compiledUpstreams = yield* compileUpstreams(config, callerHeaders(config))
  const index = new ModelIndex()
  yield* index.add(config.models)
  yield* checkVerbs(index)
  const taskKinds = new Map(Object.entries(config.task_kinds).map(([name, kind]) => [name, taskKind(name, kind)]))
  const policies = new Policies(config, before?.policies, new Regions(config.upstreams, index))
  const tariffs = yield* Tariffs.compile(config, before?.tariffs)
  const compiler = new RouteCompiler(
    { config, compiledUpstreams, index, taskKinds, tariffs },
    tools.compileSchema,
    problems,
  )
  const router = new Router()
  const parts = {
    routes: yield* compileRoutes(config, compiler, router, problems),
    admin: config.admin && compileAdmin(config.admin, tools.generated),
    keys: yield* compileKeys(config.keys, tools.generated, problems, before?.keys, policies),
    models: new ModelCatalog(index, name => compiler.serves(name), compiledUpstreams),
    off: new OffList(
      index,
      [...compiledUpstreams.values()].map(compiled => compiled.upstream),
    ),
    upstreams: new Map([...compiledUpstreams].map(([name, compiled]) => [name, compiled.upstream])),
    hasRouting: index.shapes.some(shape => routingOf(shape) !== undefined),
    hasHedges: index.shapes.some(({ hedge }) => hedge !== undefined),
    mirrors: index.shapes.flatMap(({ mirror }) => mirror ?? []),
    canaries: index.shapes.flatMap(({ canary }) => canary ?? []),
    taskKinds,
    policies,
    tariffs,
  }
  return { plan: new CompiledPlan(config, digest, parts, router), problems: problems.found }
}

/** What models' verbs become is made when they are first asked for; that it can be made is seen here. */
function* checkVerbs({ shapes }: ModelIndex): Steps<void> {
  for (const { request, response, targets } of shapes) {
    for (const list of [request, response, ...targets.flatMap(target => [target.request, target.response])]) {
      compileVerbs(list)
    }
    yield
  }
}

function* compileRoutes(
  config: Config,
  compiler: RouteCompiler,
  router: Router,
  problems: Problems,
): Steps<readonly Route[]> {
  const routes: Route[] = []
  for (const [id, written] of Object.entries(config.routes)) {
    const pattern = parsePattern(id)
    const route = yield* compiler.compile(id, pattern, written)
    const forms = Object.entries(written.prefixes ?? {})
    const { also } = written
    const added = [
      router.add(pattern, route),
      ...forms.map(([prefix, fixed]) => router.add(prefixed(pattern, prefix), route, { fixed: { ...fixed } })),
      ...(also === undefined ? [] : [router.add(parsePattern(`${pattern.method} ${also.path}`), route, also)]),
    ]
    if (added.every(Boolean)) routes.push(route)
    else problems.error(['routes', id], 'route-clash', 'another route matches the same requests')
    yield
  }
  return routes
}

/** Headers in which some route looks for callers' keys. */
function callerHeaders({ routes }: Config): ReadonlySet<string> {
  const names = new Set<string>()
  for (const { caller } of Object.values(routes)) {
    for (const place of caller) if (place.in === 'header') names.add(place.name.toLowerCase())
  }
  return names
}

/** Keys of the store may expose everything: they come and go while a plan serves. */
function exposing({ features: { expose = [] }, keys, store, admin }: Config): readonly Exposed[] {
  if (store.type !== 'memory' || admin !== undefined) return EXPOSED
  return [...new Set([expose, ...Object.values(keys).map(key => key.expose ?? [])].flat())]
}

/** Whether any level of the configuration has it on. */
function learnsHealth({ health, upstreams, models }: Config): boolean {
  const levels = [health, ...[...Object.values(upstreams), ...Object.values(models)].map(one => one.health)]
  return levels.some((level, index) => level?.isOn ?? index === 0)
}
