import { codecOf, declaredCodec, partnersOf, textProtocols } from '../../codecs/index.js'
import type { Codec } from '../../core/codec.js'
import type { AlsoConfig, Config, KeyConfig, VerbConfig } from '../../core/config.js'
import type { FeatureSettings } from '../../core/feature-settings.generated.js'
import type { Placement } from '../../core/placement.js'
import type { Plan, Route } from '../../core/plan.js'
import type { KeySecret } from '../../core/process-config.js'
import type { ResourceRule } from '../../core/resources.js'
import type { ModelPointer, Pointer } from '../../core/route-settings.js'
import { TASK_CALLS, taskFamily } from '../../core/task.js'
import { checkText } from './check-facts.js'
import { duration } from './format.js'
import { type IdentityFacts, identityFacts } from './identity-facts.js'
import { type GroupFacts, groupFacts, type RuleFacts, ruleFacts } from './limit-facts.js'
import { managerFacts } from './manager-facts.js'
import { type ModelFacts, modelFacts } from './model-facts.js'
import { captureFact, receiptsFact } from './receipt-facts.js'
import { recordFact } from './record-fact.js'
import { type RegionFacts, regionFacts } from './region-facts.js'
import { reloadFact } from './reload-fact.js'
import { storeFact } from './store-fact.js'
import { telemetryFacts, traceContentFact } from './telemetry-facts.js'
import { type UpstreamFacts, upstreamFacts } from './upstream-facts.js'

/** A plan as plain data, without a secret in it: what `explain --json` prints. Words of single features are members. */
export interface PlanFacts extends FeatureSettings {
  /** `http://127.0.0.1:8080`. */
  readonly listen: string
  /** Origins of web pages that may call. */
  readonly cors?: readonly string[]
  readonly store: string
  readonly log: string
  /** Where it is not the usual one. */
  readonly transport?: string
  readonly workers?: number
  /** Where receipts are written; absent: none are. */
  readonly receipts?: string
  /** How a changed file takes over; absent: at once. */
  readonly reload?: string
  /** What is recorded; absent: nothing is. */
  readonly record?: string
  /** What checks requests: the name, the module, and which requests. */
  readonly checks?: readonly string[]
  /** What is sent to a collector, and where it is. */
  readonly telemetry?: readonly string[]
  /** Where secrets are fetched from; absent: none is. */
  readonly secrets?: readonly string[]
  readonly keys: readonly KeyFacts[]
  /** Who else may call: holders of tokens. */
  readonly identity?: readonly IdentityFacts[]
  readonly groups: readonly GroupFacts[]
  /** What keys with regions reach. */
  readonly regions: readonly RegionFacts[]
  readonly upstreams: readonly UpstreamFacts[]
  readonly models: readonly ModelFacts[]
  readonly routes: readonly RouteFacts[]
}

export interface KeyFacts extends RuleFacts {
  /** What of its content is kept. */
  readonly capture?: string
  /** What spans hold of it. */
  readonly trace?: string
  readonly name: string
  readonly models: readonly string[]
  /** Whether nothing of its requests may be lost in translation. */
  readonly strict?: boolean
  /** What its answers say of who answered, in place of the file's list. */
  readonly expose?: readonly string[]
  /** `pin`: its requests may name a generation. */
  readonly generations?: 'pin'
  /** Where each of its secrets comes from, or the first digits of its digest. */
  readonly secrets: readonly string[]
  /** Why no one can use it. */
  readonly off?: string
  /** ISO 8601. */
  readonly expires?: string
}

export interface RouteFacts {
  readonly id: string
  readonly shipped: boolean
  /** A protocol, or what the gateway answers itself. */
  readonly serves: string
  /** Further first segments of its path. */
  readonly prefixes?: readonly string[]
  /** Another path of it, and which requests there are its own. */
  readonly also?: string
  readonly model?: string
  readonly stream: string
  /** Where it is not always events. */
  readonly framing?: string
  /** How a WebSocket is passed through. */
  readonly tunnel?: string
  readonly strict?: boolean
  readonly schema?: string
  /** What its answers are compared with: `NAME, 1% of answers`. */
  readonly response_schema?: string
  /** What it begins, where its requests are answered before they are done. */
  readonly task?: string
  /** The schema of bodies that are JSON in place of a form. */
  readonly json?: string
  /** Changes to requests, before those of the upstream. */
  readonly request?: readonly VerbConfig[]
  readonly body: string
  /** What it does with resources that upstreams keep: `creates file`. */
  readonly resource?: string
  /** Kinds of such things that its requests may name. */
  readonly references?: readonly string[]
  readonly errors: string
  /** Other families that are answered in their own shape, each with the header that tells them. */
  readonly families?: readonly string[]
  readonly caller: readonly string[]
  readonly calls: readonly CallFacts[]
}

/** How an upstream is called on a route. */
interface CallFacts {
  readonly upstream: string
  readonly call: string
  /** Where streams have a call of their own. */
  readonly stream?: string
  /** The protocol that requests are translated to; absent where they are relayed. */
  readonly translated?: string
  /** How a task that has begun is followed: `retrieve: GET /v1/videos/{task_id}`. */
  readonly follow?: readonly string[]
}

export function planFacts(plan: Plan, config: Config): PlanFacts {
  const { host, port, tls, cors } = plan.listen
  const address = host.includes(':') ? `[${host}]` : host
  return {
    listen: `${tls === undefined ? 'http' : 'https'}://${address}:${port}`,
    ...(cors === undefined ? {} : { cors: cors.origins }),
    store: storeFact(plan.store),
    log: logText(plan.log),
    ...plan.features,
    ...(plan.record === undefined ? {} : { record: recordFact(plan.record) }),
    ...(plan.reload === undefined ? {} : { reload: reloadFact(plan.reload) }),
    ...(plan.receipts === undefined ? {} : { receipts: receiptsFact(plan.receipts) }),
    ...(plan.transport === 'fast' ? {} : { transport: plan.transport }),
    ...(plan.workers === 1 ? {} : { workers: plan.workers }),
    ...(plan.checks.length === 0 ? {} : { checks: plan.checks.map(checkText) }),
    ...(plan.telemetry === undefined ? {} : { telemetry: telemetryFacts(plan.telemetry) }),
    ...(config.managed === undefined ? {} : { secrets: managerFacts(config.managed) }),
    keys: Object.entries(config.keys).map(([name, key]) => keyFacts(name, key)),
    ...(plan.identity === undefined ? {} : { identity: identityFacts(plan.identity) }),
    groups: Object.entries(config.groups).map(([name, group]) => groupFacts(name, group)),
    regions: regionFacts(config),
    upstreams: [...plan.upstreams.values()].map(upstream => upstreamFacts(upstream, config)),
    models: Object.entries(config.models).map(([name, model]) => modelFacts(name, model, plan)),
    routes: plan.routes.map(route => routeFacts(route, config)),
  }
}

/** `info`, and what is not as usual: `info as ecs to /var/log/gateway.log, 64 MiB or 24h each, 7 kept, ok 10%, fields key model`. */
function logText({ level, format, to, sample = {}, fields }: Plan['log']): string {
  const file = to && `${to.file} (${to.size} bytes or ${duration(to.age)} each, ${to.keep} kept)`
  return [
    `${level}${format === 'auto' ? '' : ` as ${format}`}${file === undefined ? '' : ` to ${file}`}`,
    ...Object.entries(sample).map(([outcome, share]) => `${Math.round(share * 10_000) / 100}% of ${outcome}`),
    ...(fields === undefined ? [] : [`fields ${fields.join(' ')}`]),
  ].join(', ')
}

export function keyFacts(name: string, key: KeyConfig): KeyFacts {
  const { models, secrets, expires, disabled, absent, strict, expose, generations, capture, trace, ...rules } = key
  const off = disabled ? 'disabled' : secrets.length === 0 ? (absent ?? 'no secret') : undefined
  return {
    name,
    models,
    ...(strict ? { strict } : {}),
    ...(expose === undefined ? {} : { expose }),
    ...(generations === undefined ? {} : { generations }),
    secrets: secrets.map(secretText),
    ...(off === undefined ? {} : { off }),
    ...(capture === undefined ? {} : { capture: captureFact(capture) }),
    ...(trace === undefined ? {} : { trace: traceContentFact(trace) }),
    ...(expires === undefined ? {} : { expires: new Date(expires).toISOString() }),
    ...ruleFacts(rules),
  }
}

function secretText(secret: KeySecret): string {
  switch (secret.type) {
    case 'plain':
      return 'from a variable or file'
    case 'digest':
      return `sha256:${secret.sha256.slice(0, 4)}…`
    case 'generated':
      return 'created on the first start'
  }
}

function routeFacts(route: Route, config: Config): RouteFacts {
  const { id, shipped, protocol, task, resource, model, body, errors, families, caller } = route
  const { schema, json, strict, request = [], prefixes = {}, also } = config.routes[id] ?? {}
  const framing = framingText(route)
  const check = config.response_schemas[id]
  return {
    id,
    shipped,
    serves: servesText(route),
    ...(protocol === undefined || task === undefined ? {} : { task: taskText(task) }),
    ...(Object.keys(prefixes).length === 0 ? {} : { prefixes: Object.keys(prefixes) }),
    ...(also === undefined ? {} : { also: alsoText(also) }),
    ...(model === undefined ? {} : { model: modelText(model) }),
    stream: typeof route.stream === 'string' ? route.stream : pointerText(route.stream),
    ...(framing === undefined ? {} : { framing }),
    ...(route.tunnel === undefined ? {} : { tunnel: route.tunnel }),
    ...(strict === true ? { strict } : {}),
    ...(schema === undefined ? {} : { schema }),
    ...(json === undefined ? {} : { json }),
    ...(check && { response_schema: `${check.schema}, ${Number((check.share * 100).toFixed(3))}% of answers` }),
    ...(request.length === 0 ? {} : { request }),
    body,
    ...(resource === undefined ? {} : { resource: resourceText(route, resource) }),
    ...(route.references.length === 0
      ? {}
      : { references: [...new Set(route.references.map(({ kind }) => kind.name))] }),
    errors,
    ...(families.length === 0 ? {} : { families: families.map(({ family, header }) => `${family} with ${header}`) }),
    caller: caller.map(placementText),
    calls: protocol === undefined ? [] : callsOf(id, protocol.name, config),
  }
}

function alsoText({ path, with: headers }: AlsoConfig): string {
  return headers.length === 0 ? path : `${path} with ${headers.join(' or ')}`
}

const ESTIMATED = 'no upstream is asked: the gateway estimates'

/** What other protocols make is asked for as a whole. */
const WHOLE: ReadonlySet<string> = new Set(['image', 'edit', 'speak', 'transcribe', 'translate'])

/** Of every upstream that is on, can serve the protocol, and is the route's own or some model's target. */
function callsOf(id: string, protocol: string, config: Config): readonly CallFacts[] {
  const fixed = config.routes[id]?.upstream
  const targets = Object.values(config.models).flatMap(model => model.targets.map(target => target.upstream))
  const held = config.routes[id]?.resource !== undefined && config.routes[id]?.model === undefined
  const asked = new Set(fixed !== undefined ? [fixed] : held ? Object.keys(config.upstreams) : targets)
  const codec = codecOf(protocol)
  const partners = codec === undefined ? [] : partnersOf(codec).map(partner => partner.protocol)
  const declared = declaredOf(codec, config)
  return Object.entries(config.upstreams).flatMap(([upstream, { off, speaks }]) => {
    if (off !== undefined || !asked.has(upstream)) return []
    const spoken = [protocol, ...partners].find(one => Object.hasOwn(speaks, one))
    const others = declared.get(upstream) ?? []
    if (spoken === undefined && others.length === 0) {
      const isEstimated = codec?.operation === 'count' && textProtocols().some(one => Object.hasOwn(speaks, one))
      return isEstimated ? [{ upstream, call: ESTIMATED }] : []
    }
    return [...new Set([spoken, ...others])].flatMap(one => {
      const endpoint = speaks[one ?? '']
      if (one === undefined || endpoint === undefined) return []
      const { call, stream } = endpoint
      const facts = {
        upstream,
        ...(one === protocol ? {} : { translated: one }),
        call: `${call.method} ${call.target}`,
        ...followOf(id, protocol, speaks, config),
      }
      const isWhole = one !== protocol && WHOLE.has(codec?.operation ?? 'text')
      return [stream === undefined || isWhole ? facts : { ...facts, stream: `${stream.method} ${stream.target}` }]
    })
  })
}

/** By upstream: protocols by which some model there is declared to be asked. */
function declaredOf(server: Codec | undefined, { models, upstreams }: Config): ReadonlyMap<string, readonly string[]> {
  const declared = new Map<string, readonly string[]>()
  for (const { targets, traits } of Object.values(models)) {
    for (const target of targets) {
      const { speaks = {}, traits: own } = upstreams[target.upstream] ?? {}
      const codec = declaredCodec(server, { ...own, ...traits, ...target.traits }, one => Object.hasOwn(speaks, one))
      const known = declared.get(target.upstream) ?? []
      if (codec !== undefined && !known.includes(codec.protocol)) {
        declared.set(target.upstream, [...known, codec.protocol])
      }
    }
  }
  return declared
}
function followOf(
  id: string,
  protocol: string,
  speaks: Config['upstreams'][string]['speaks'],
  { routes }: Config,
): Pick<CallFacts, 'follow'> {
  if (routes[id]?.task === undefined && speaks[protocol]?.task === undefined) return {}
  const follow = TASK_CALLS.flatMap(name => {
    const endpoint = speaks[`${taskFamily(protocol)}.${name}`]
    return endpoint === undefined ? [] : [`${name}: ${endpoint.call.method} ${endpoint.call.target}`]
  })
  return follow.length === 0 ? {} : { follow }
}

/** `creates file, kept by an upstream of the model in query.model, else by the first of these`. */
function resourceText({ modelHints, model, batch }: Route, { action, kind }: ResourceRule): string {
  const text = `${action}s ${kind.name}`
  if (action !== 'create' || model !== undefined) return text
  if (batch !== undefined) return `${text}, kept by the one that serves all models of its requests on ${batch.of}`
  const hints = modelHints.map(({ from, name }) => `${from}.${name}`).join(' or ')
  const first = 'the first of these that serves a model of the key'
  return `${text}, kept by ${hints === '' ? first : `an upstream of the model in ${hints}, else by ${first}`}`
}

/** `ndjson, ?alt=sse: sse-crlf`. */
function framingText({ stream, framing }: Route): string | undefined {
  const { byDefault, parameter, values } = framing
  if (stream === 'never' || (parameter === undefined && byDefault === 'sse')) return undefined
  return [byDefault, ...Object.entries(values).map(([value, word]) => `?${parameter}=${value}: ${word}`)].join(', ')
}

function taskText({ kind, parameter, member, webhook }: NonNullable<Route['task']>): string {
  const place = parameter === undefined ? member && `body.${member}` : `path.${parameter}`
  const made = place === undefined ? '' : `, based on the one that ${place} names`
  return `begins ${/^[aeiou]/i.test(kind.name) ? 'an' : 'a'} ${kind.name} task${made}${webhook === undefined ? '' : `, notifies body.${webhook}`}`
}

/** `body.bot (FAST: swift-2, else north-1)` */
function modelText({ values = {}, byDefault, ...pointer }: ModelPointer): string {
  const said = Object.entries(values).map(([word, model]) => `${word}: ${model}`)
  if (byDefault !== undefined) said.push(`else ${byDefault}`)
  return pointerText(pointer) + (said.length === 0 ? '' : ` (${said.join(', ')})`)
}

function pointerText({ from, name }: Pointer): string {
  return `${from}.${name}`
}

function placementText(placement: Placement): string {
  switch (placement.in) {
    case 'header':
      return `${placement.name}: ${placement.scheme === undefined ? '' : `${placement.scheme} `}KEY`
    case 'query':
      return `?${placement.name}=KEY`
    case 'subprotocol':
      return `sec-websocket-protocol: ${placement.prefix}KEY`
  }
}

/** `: audio (audio/mpeg, audio/*), image (image/*)`: what a client gets that names each variant. */
function contentText({ action, kind }: NonNullable<Route['task']>): string {
  if (action !== 'content') return ''
  return `: ${Object.entries(kind.content)
    .map(([variant, types]) => `${variant} (${types.join(', ')})`)
    .join(', ')}`
}

/** The protocol, or what the gateway answers by itself. */
function servesText({ protocol, answer, task, resource }: Route): string {
  if (protocol !== undefined) return protocol.name
  if (task !== undefined) return `stored ${task.kind.name} tasks:  ${task.action}${contentText(task)}`
  return `the gateway's own answer: ${answer ?? `the caller's own ${resource?.kind.name} list`}`
}
