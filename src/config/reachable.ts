import type { CallConfig } from '../core/config.js'
import { Glob, isGlob } from '../core/glob.js'
import type { Retry } from '../core/limits.js'
import { TASK_VARIABLES, taskFamily } from '../core/task.js'
import type { Context } from './context.js'
import type { ReadModel } from './models.js'
import { listed, quoted } from './report.js'
import type { ReadRoute } from './routes.js'
import { suggest } from './suggest.js'
import { isTaskCall } from './tasks.js'
import { isAskedFor, paramsOfPartners, partnersOfProtocol, warnOfMissingLimits, withoutLimits } from './translatable.js'
import type { ReadUpstream } from './upstreams.js'

/** What the calls that follow a task can be filled in with. */
const TASK_PARAMS: ReadonlySet<string> = new Set(TASK_VARIABLES)

/** Earlier globs that one glob is compared with, at most. */
const MAX_COMPARED_GLOBS = 500

type Tries = Pick<Retry, 'attempts' | 'on'>

interface Parts {
  readonly upstreams: ReadonlyMap<string, ReadUpstream>
  readonly models: ReadonlyMap<string, ReadModel>
  readonly routes: ReadonlyMap<string, ReadRoute>
  readonly retry: Tries
  /** Names under `protocols`. */
  readonly protocols: readonly string[]
}

/** Finds what is written and can never be used: targets, models, protocols. */
export function checkReachable(parts: Parts, context: Context): void {
  const spoken = protocolsOf(parts.routes)
  const begun = familiesOf(parts.routes)
  const isMute = once((upstream: ReadUpstream) => !speaksAny(upstream, spoken))
  const unlimited = once((upstream: ReadUpstream) => withoutLimits(upstream, spoken))
  const serves = once(protocolsServed)
  const retry = mostOf([parts.retry, ...[...parts.routes.values()].map(route => route.config.retry)])
  for (const [name, model] of parts.models) {
    refuseRepeatedTargets(name, model, context)
    refuseMuteTargets(model, isMute, parts, context)
    checkServes(model, spoken, parts, context)
    warnOfMissingLimits(model, unlimited, parts.upstreams, context)
    warnOfLateTargets(model, { upstreams: parts.upstreams, retry, serves }, context)
  }
  refuseShadowedGlobs(parts.models, context)
  checkRoutes(parts, context)
  checkEndpoints(parts, spoken, begun, context)
}

/** Asks of each upstream once: very many models may lead to it. */
function once<T>(make: (upstream: ReadUpstream) => T): (upstream: ReadUpstream) => T {
  const made = new Map<ReadUpstream, T>()
  return upstream => {
    const value = made.get(upstream) ?? make(upstream)
    made.set(upstream, value)
    return value
  }
}

function speaksAny({ endpoints }: ReadUpstream, spoken: ReadonlyMap<string, unknown>): boolean {
  return [...endpoints.keys()].some(protocol => isAskedFor(protocol, spoken))
}

function protocolsServed({ endpoints }: ReadUpstream): ReadonlySet<string> {
  return new Set([...endpoints.keys()].flatMap(protocol => [protocol, ...partnersOfProtocol(protocol)]))
}

/** What the most generous of several settings allows. */
function mostOf(retries: readonly Partial<Tries>[]): Tries {
  return {
    attempts: Math.max(0, ...retries.map(retry => retry.attempts ?? 0)),
    on: retries.find(({ on = [] }) => on.length > 0)?.on ?? [],
  }
}

/** Protocols of the routes on which a model's name decides, with the parameters of their paths. */
function protocolsOf(routes: ReadonlyMap<string, ReadRoute>): ReadonlyMap<string, ReadonlySet<string>> {
  const protocols = new Map<string, Set<string>>()
  for (const { config, pattern } of routes.values()) {
    if (config.protocol === undefined) continue
    const params = protocols.get(config.protocol) ?? new Set(['model'])
    for (const name of pattern.params) params.add(name)
    protocols.set(config.protocol, params)
  }
  return protocols
}

/** Of the protocols by which routes begin tasks. */
function familiesOf(routes: ReadonlyMap<string, ReadRoute>): ReadonlySet<string> {
  return new Set(
    [...routes.values()].flatMap(({ config: { task, protocol } }) =>
      task?.action === 'submit' && protocol !== undefined ? [taskFamily(protocol)] : [],
    ),
  )
}

function refuseRepeatedTargets(name: string, model: ReadModel, { report }: Context): void {
  if (model.targets.length < 2) return
  const seen = new Map<string, number>()
  for (const [index, target] of model.config.targets.entries()) {
    const whole = JSON.stringify([target.upstream, target.as ?? name])
    const identity = target.when === undefined ? whole : whole + JSON.stringify(target.when)
    // One that takes all requests leaves none for the same with conditions.
    const first = seen.get(whole) ?? seen.get(identity)
    const site = model.targets[index]
    if (first === undefined || site === undefined) {
      seen.set(identity, index)
    } else {
      report.error(
        'unreachable-target',
        site,
        `target ${first + 1} is the same upstream and model, so this one has no effect`,
      )
    }
  }
}

/** A target whose upstream speaks nothing that a route with a model serves. */
function refuseMuteTargets(
  model: ReadModel,
  isMute: (upstream: ReadUpstream) => boolean,
  { upstreams }: Parts,
  { report }: Context,
): void {
  for (const [index, target] of model.config.targets.entries()) {
    const upstream = upstreams.get(target.upstream)
    const site = model.targets[index]
    if (upstream === undefined || site === undefined || upstream.endpoints.size === 0) continue
    if (!isMute(upstream)) continue
    const speaks = listed(upstream.endpoints.keys())
    const message = `no route leads here: ${quoted(target.upstream)} speaks ${speaks ?? 'many protocols'}, and no route has one of these protocols`
    report.error('unreachable-target', site, message, { from: ['routes'] })
  }
}

/** A model that is served only by a protocol that no route has, or that none of its upstreams can be asked by. */
function checkServes(
  { config, site }: ReadModel,
  spoken: ReadonlyMap<string, unknown>,
  { upstreams }: Parts,
  { report }: Context,
): void {
  const targets = config.targets.flatMap(({ upstream }) => upstreams.get(upstream) ?? [])
  for (const [index, name] of (config.protocols ?? []).entries()) {
    const protocols = [...spoken.keys()].filter(protocol => protocol === name || taskFamily(protocol) === name)
    const place = site.child('protocols', index)
    if (protocols.length === 0) {
      const known = [...spoken.keys()].flatMap(protocol => [protocol, taskFamily(protocol)])
      report.error('dangling-reference', place, `no route has the protocol ${quoted(name)}`, {
        meant: () => suggest(name, known),
        from: ['routes'],
      })
      continue
    }
    const served = new Map(protocols.map(protocol => [protocol, undefined]))
    const offered = targets.flatMap(({ endpoints }) => [...endpoints.keys()])
    if (offered.length === 0 || offered.some(protocol => isAskedFor(protocol, served))) continue
    report.warn('unreachable-model', place, `no upstream of this model speaks ${quoted(name)}`, {
      from: ['upstreams', 'kinds'],
    })
  }
}

/**
 * Targets that no attempt gets to: there are fewer attempts than targets, or nothing leads on from one target to the next.
 * A target that serves what those before it do not is the first one there. What is disabled does not count; what wants its
 * secret does, so that this does not depend on the environment.
 */
function warnOfLateTargets(
  model: ReadModel,
  {
    upstreams,
    retry,
    serves,
  }: { retry: Tries; serves: (upstream: ReadUpstream) => ReadonlySet<string> } & Pick<Parts, 'upstreams'>,
  { report }: Context,
): void {
  const { targets, retry: own } = model.config
  if (targets.length < 2) return
  const most = mostOf([retry, ...targets.flatMap(target => upstreams.get(target.upstream)?.config.retry ?? [])])
  // What the model says itself goes before all others.
  const { attempts, on } = { ...most, ...own }
  const leadsOn = on.length > 0
  const reached = leadsOn ? attempts : 1
  const why = leadsOn
    ? `${attempts === 1 ? '1 attempt ends with the target' : `${attempts} attempts end with the targets`} before it; write retry: { attempts: ${targets.length} }`
    : 'no failure of the target before it leads here, since retry.on is empty; name failures, as in retry: { on: [connect, 503] }'
  const before: ReadonlySet<string>[] = []
  for (const [index, target] of targets.entries()) {
    const upstream = upstreams.get(target.upstream)
    const site = model.targets[index]
    if (upstream === undefined || upstream.config.off === 'disabled' || site === undefined) continue
    const speaks = [...upstream.endpoints.keys()]
    const isLate =
      before.length >= reached &&
      speaks.every(protocol => before.filter(served => served.has(protocol)).length >= reached)
    before.push(serves(upstream))
    if (!isLate || speaks.length === 0 || target.weight !== undefined) continue
    report.warn('unreachable-target', site, `this target is never tried: ${why}`, {
      from: ['retry', 'routes', 'upstreams', 'kinds'],
    })
    return
  }
}

/** A glob all of whose names fit an earlier glob. `*` taken as a letter of its own, the later pattern fits the earlier one. */
function refuseShadowedGlobs(models: ReadonlyMap<string, ReadModel>, { report }: Context): void {
  const earlier: Glob[] = []
  for (const [name, { site }] of models) {
    if (!isGlob(name)) continue
    const shadow = earlier.find(glob => glob.matches(name))?.text
    if (shadow !== undefined) {
      const message = `${quoted(shadow)} comes first and matches every name that this one matches; move this one up`
      report.error('unreachable-model', site, message, { on: 'key' })
    }
    if (earlier.length < MAX_COMPARED_GLOBS) earlier.push(new Glob(name))
  }
}

function checkRoutes({ routes, upstreams }: Parts, { report }: Context): void {
  const endpoints = [...upstreams.values()].flatMap(upstream => [...upstream.endpoints.keys()])
  const spoken = new Set(endpoints.flatMap(protocol => [protocol, ...partnersOfProtocol(protocol)]))
  for (const { config, site } of routes.values()) {
    const { protocol } = config
    if (protocol === undefined) continue
    const fixed = config.upstream === undefined ? undefined : upstreams.get(config.upstream)
    const servable = [protocol, ...partnersOfProtocol(protocol)]
    if (fixed !== undefined && fixed.endpoints.size > 0 && !servable.some(one => fixed.endpoints.has(one))) {
      const message = `${quoted(config.upstream ?? '')} does not speak ${quoted(protocol)}; it speaks ${listed(fixed.endpoints.keys()) ?? 'others'}`
      report.error('unreachable-target', site.child('upstream'), message, {
        meant: () => suggest(protocol, fixed.endpoints.keys()),
      })
    } else if (!config.shipped && !spoken.has(protocol) && upstreams.size > 0) {
      const message = `no upstream speaks ${quoted(protocol)}, so this route cannot be served`
      report.warn('unspoken-protocol', site.child('protocol'), message, {
        meant: () => suggest(protocol, spoken),
        from: ['upstreams', 'kinds'],
      })
    }
  }
}

/** What upstreams speak must be asked for by a route, and calls may hold only parameters that those routes have. */
function checkEndpoints(
  { upstreams, protocols, routes }: Parts,
  spoken: ReadonlyMap<string, ReadonlySet<string>>,
  begun: ReadonlySet<string>,
  { report }: Context,
): void {
  const known = new Set([...spoken.keys(), ...protocols])
  for (const { endpoints } of upstreams.values()) {
    for (const [protocol, { site, params, config }] of endpoints) {
      const ofTask = isTaskCall(protocol, begun) ? TASK_PARAMS : undefined
      const available = spoken.get(protocol) ?? ofTask ?? paramsOfPartners(protocol, spoken)
      if (available === undefined) {
        if (site.document.shipped || known.has(protocol)) continue
        const message = `no route has the protocol ${quoted(protocol)}, so this is never called`
        report.warn('unused-protocol', site, message, {
          on: 'key',
          meant: () => protocolAt(config.call, routes) ?? suggest(protocol, known),
          from: ['routes', 'protocols'],
        })
        continue
      }
      for (const name of params) {
        if (available.has(name)) continue
        const message = `no route with the protocol ${quoted(protocol)} has a parameter {${name}}`
        report.error('unknown-parameter', site, message, { meant: () => suggest(name, available), from: ['routes'] })
      }
    }
  }
}

/** The protocol of the very path of a call. */
function protocolAt({ method, target }: CallConfig, routes: ReadonlyMap<string, ReadRoute>): string | undefined {
  const path = target.split('?', 1)[0]
  return routes.get(`${method} ${path}`)?.config.protocol
}
