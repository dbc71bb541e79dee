import type { Config, RouteConfig, VerbConfig } from '../core/config.js'
import { messageRules } from '../core/members.js'
import type { DocumentPath } from '../core/path-text.js'
import type { Route } from '../core/plan.js'
import { KEEP_MEMBER, mayAskToKeep, namesState, STATE_MEMBERS, STATEFUL } from '../core/stateful.js'
import type { Steps } from '../core/steps.js'
import { taskFamily } from '../core/task.js'
import { membersRead, type TaskKind, undeclaredKind } from '../core/task-kind.js'
import { MAX_PATHS } from '../wire/named-values.js'
import { formFault } from './form-verbs.js'
import { MemberCompiler } from './members.js'
import type { Pattern } from './pattern.js'
import type { Problems } from './problems.js'
import { Protocols } from './protocols.js'
import { ResourceKinds } from './resource-kinds.js'
import { type CompileSchema, Schemas } from './schemas.js'
import { FixedService, ModelService, type Parts, ResourceService, type Service } from './service.js'
import { compileTaskRoute } from './tasks.js'

/** Compiles routes, with what several of them share made once. */
export class RouteCompiler {
  readonly #parts: Parts
  readonly #problems: Problems
  readonly #protocols: Protocols
  readonly #schemas: Schemas
  readonly #resourceKinds: ResourceKinds
  readonly #members: MemberCompiler
  readonly #services = new Map<string, ModelService>()
  readonly #spoken = new Map<string, ReadonlySet<string>>()
  readonly #limits: Route['limits']

  constructor(parts: Parts, compileSchema: CompileSchema, problems: Problems) {
    this.#parts = parts
    this.#problems = problems
    this.#protocols = new Protocols(parts.config.protocols)
    this.#limits = pick(parts.config.limits)
    this.#members = new MemberCompiler(parts.config)
    this.#resourceKinds = new ResourceKinds(parts.config.resource_kinds)
    this.#schemas = new Schemas(parts.config.schemas, compileSchema, problems)
  }

  /** Whether some route can serve the model of that name now. */
  serves(name: string): boolean {
    for (const service of this.#services.values()) if (service.serves(name)) return true
    return false
  }

  *compile(id: string, pattern: Pattern, config: RouteConfig): Steps<Route> {
    const { answer, caller, errors, families, protocol, model, stream, framing, tunnel, schema, json, body, shipped } =
      config
    const service = yield* this.#service(id, pattern, config)
    const kind = config.task && this.#kindOf(config.task.kind)
    const resource = this.#resourceKinds.resource(config)
    const members = this.#members.of({ ...config, ...compacted(answer), method: pattern.method })
    if (tunnel !== undefined) this.#checkMessages(protocol, members)
    this.#checkBatch(id, config)
    this.#checkRun(id, config)
    return {
      id,
      method: pattern.method,
      lane: laneOf(config),
      answer,
      task:
        config.task &&
        kind &&
        compileTaskRoute(config.task, kind, protocol, this.#parts.compiledUpstreams, this.#parts.config),
      caller,
      errors,
      families,
      protocol: protocol === undefined ? undefined : this.#protocols.get(protocol),
      model,
      stream,
      framing,
      tunnel,
      body,
      control: controlMembers(config, kind, this.#batchFiles(config)),
      members,
      resource,
      references: this.#resourceKinds.references(config),
      modelHints: config.modelHints,
      resumableUpload: config.resumableUpload,
      batch: config.batch,
      results: this.#resourceKinds.results(config),
      speakers: this.#upstreamsWith(protocol),
      requiresAllModels: config.requiresAllModels,
      validate: schema === undefined ? undefined : this.#schemas.validator(schema, id),
      validateJson: json === undefined ? undefined : this.#schemas.validator(json, id, 'json'),
      ...named('schema', this.#schemas.document(schema)),
      ...named('jsonSchema', this.#schemas.document(json)),
      awaits: this.#awaits(id, config),
      ...named('responseCheck', this.#responseCheck(id)),
      limits: isEmpty(config.limits) ? this.#limits : { ...this.#limits, ...config.limits },
      resolve: name => service?.resolve(name),
      shipped,
    }
  }

  /** Whether some upstream does the work of such plain requests in the background. */
  #awaits(id: string, { protocol = '', task }: RouteConfig): boolean {
    if (task !== undefined) return false
    const retrieve = `${taskFamily(protocol)}.retrieve`
    const endpointsOf = (name: string) => this.#parts.compiledUpstreams.get(name)?.endpoints
    const all = [...this.#upstreamsWith(protocol)].filter(name => endpointsOf(name)?.get(protocol)?.task !== undefined)
    for (const name of all.filter(one => endpointsOf(one)?.has(retrieve) !== true)) {
      const message = `${id} waits until such work has ended, and this upstream cannot be asked: add ${retrieve}`
      this.#problems.error(['upstreams', name, 'speaks', protocol, 'task'], 'missing-call', message)
    }
    return all.length > 0
  }

  #responseCheck(id: string): Route['responseCheck'] {
    const check = this.#parts.config.response_schemas[id]
    const validate = check && this.#schemas.validator(check.schema, id, 'response')
    return validate && { share: check.share, validate }
  }

  #kindOf(name: string): TaskKind {
    return this.#parts.taskKinds.get(name) ?? undeclaredKind(name)
  }

  /** Members that name the files of a batch: how many requests it has is read from them. */
  #batchFiles({ protocol = '', references }: RouteConfig): readonly string[] {
    if (this.#protocols.get(protocol).amounts?.batch !== true) return []
    return this.#resourceKinds.named(references).map(({ path: [name = ''] }) => name)
  }

  /** Messages are read while they pass, which goes by few paths of names alone. */
  #checkMessages(protocol = '', members: Route['members']): void {
    const path = ['protocols', protocol, 'members']
    // No one is called so: what holds where no upstream says anything itself.
    if (members.of('').rules.some(rule => rule.path.includes('*')))
      this.#problems.error(path, 'message-members', 'message paths of a tunnel cannot contain *')
    for (const name of ['', ...this.#parts.compiledUpstreams.keys()]) {
      if (messageRules(members.of(name)).length <= MAX_PATHS) continue
      const message = `at most ${MAX_PATHS} members of a tunnel's messages can be read`
      this.#problems.error(name === '' ? path : ['upstreams', name, 'members'], 'message-members', message)
    }
  }

  /** The requests in a batch are those of a route that names its model in the body. */
  #checkBatch(id: string, { batch, shipped }: RouteConfig): void {
    if (batch === undefined || shipped || this.#parts.config.routes[batch.of]?.model?.from === 'body') return
    const message = `no route "${batch.of}" names its model in the body`
    this.#problems.error(['routes', id, 'batch', 'of'], 'dangling-reference', message)
  }

  /** What a task runs is a plain request with a JSON body. */
  #checkRun(id: string, { task }: RouteConfig): void {
    if (task?.runs === undefined) return
    const { [task.runs]: other } = this.#parts.config.routes
    const isPlain =
      other !== undefined && other.task === undefined && other.tunnel === undefined && other.body === 'json'
    if (isPlain && task.runs.startsWith('POST ') && !task.runs.includes('{')) return
    const message = `no route "${task.runs}" takes a JSON body by POST, without parameters in its path`
    this.#problems.error(['routes', id, 'task', 'route'], 'dangling-reference', message)
  }

  #upstreamsWith(protocol = ''): ReadonlySet<string> {
    const known = this.#spoken.get(protocol)
    if (known !== undefined) return known
    const compiledUpstreams = [...this.#parts.compiledUpstreams].filter(([, { endpoints }]) => endpoints.has(protocol))
    const names = new Set(compiledUpstreams.map(([name]) => name))
    this.#spoken.set(protocol, names)
    return names
  }

  /** The service of a route. Its upstream calls may interpolate only the model and the route's own parameters. */
  *#service(id: string, { parameters }: Pattern, config: RouteConfig): Steps<Service | undefined> {
    const service = this.#find(config)
    if (config.body === 'multipart') this.#checkForms(id, config)
    for (const [name, call] of service === undefined || config.protocol === undefined ? [] : yield* service.needs()) {
      if (parameters.includes(name)) continue
      const message = `the upstream's call "${call}" needs {${name}}, which this route does not have`
      this.#problems.error(['routes', id], 'unknown-parameter', message)
    }
    return service
  }

  /** What is written for this protocol alone has to be something that a form can say. */
  #checkForms(id: string, { protocol = '', request = [] }: RouteConfig): void {
    this.#checkVerbs(request, ['routes', id, 'request'])
    for (const [upstream, { endpoints }] of this.#parts.compiledUpstreams) {
      const endpoint = endpoints.get(protocol)
      const verbs = endpoint?.forms !== undefined ? [] : (endpoint?.request ?? [])
      this.#checkVerbs(verbs, ['upstreams', upstream, 'speaks', protocol, 'request'])
    }
  }

  #checkVerbs(verbs: readonly VerbConfig[], path: DocumentPath): void {
    for (const [index, verb] of verbs.entries()) {
      const fault = formFault(verb)
      if (fault !== undefined) this.#problems.error([...path, index], 'form-verb', fault)
    }
  }

  /** Upstreams that speak the stateful protocol: what they keep for others than the callers here has no model. */
  #keepers(timeouts: RouteConfig['timeouts'], retry: RouteConfig['retry']): Service {
    return new ResourceService(this.#parts, { protocol: STATEFUL, timeouts, retry, strict: false })
  }

  #find({
    protocol,
    answer,
    model,
    task,
    upstream,
    timeouts,
    retry,
    strict,
    resource,
    batch,
    body,
    request = [],
  }: RouteConfig): Service | undefined {
    if (protocol === undefined) return asksKeepers(answer) ? this.#keepers(timeouts, retry) : undefined
    const settings = {
      protocol,
      timeouts,
      retry,
      strict,
      request,
      forms: body === 'multipart',
      batch: batch !== undefined,
    }
    if (model === undefined && upstream === undefined && resource !== undefined)
      return new ResourceService(this.#parts, settings)
    // A task that is made of another one is made by the model of that one.
    if (model === undefined && task === undefined) return new FixedService(this.#parts, settings, upstream ?? '')
    const key = JSON.stringify(settings)
    const service = this.#services.get(key) ?? new ModelService(this.#parts, settings)
    this.#services.set(key, service)
    return service
  }
}

function pick({
  body,
  line,
  event,
  response,
  depth,
  members,
  values,
  parts,
  field,
  fields,
}: Config['limits']): Route['limits'] {
  return { body, line, event, response, depth, members, values, parts, field, fields }
}

function named<Name extends string, Value>(name: Name, value: Value | undefined): { readonly [N in Name]?: Value } {
  return value === undefined ? {} : ({ [name]: value } as { readonly [N in Name]: Value })
}

function isEmpty(settings: object): boolean {
  return Object.keys(settings).length === 0
}

/** Whether an upstream may be asked about what it keeps; anyone who compacts names a model. */
function asksKeepers(answer: RouteConfig['answer']): boolean {
  return answer?.startsWith('response') === true && answer !== 'response.compact'
}

/** What is compacted is a request of the stateful protocol. */
function compacted(answer: RouteConfig['answer']): { readonly protocol?: string } {
  return answer === 'response.compact' ? { protocol: STATEFUL } : {}
}

/** Top-level members of the body that decide what happens. */
function controlMembers(
  { model, stream, protocol, answer, task, batch }: RouteConfig,
  kind: TaskKind | undefined,
  batchFiles: readonly string[],
): readonly string[] {
  const names = new Set<string>(batchFiles)
  for (const pointer of [model, stream]) {
    if (typeof pointer === 'object' && (pointer.from === 'body' || pointer.from === 'form')) names.add(pointer.name)
  }
  if (namesState(protocol, answer)) for (const name of STATE_MEMBERS) names.add(name)
  if (mayAskToKeep(protocol)) names.add(KEEP_MEMBER)
  if (task?.action === 'submit' && kind !== undefined) for (const name of membersRead(kind)) names.add(name)
  if (batch !== undefined) names.add(batch.list)
  if (task?.webhook !== undefined) names.add(task.webhook)
  if (task?.member !== undefined) names.add(task.member)
  return [...names]
}

function laneOf({ task, answer, resource }: RouteConfig): Route['lane'] {
  if (task !== undefined) return 'task'
  return answer === undefined && resource?.action !== 'list' ? 'exchange' : 'answer'
}
