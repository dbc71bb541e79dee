import { codecOf, declarable } from '../codecs/index.js'
import { Glob, isGlob } from '../core/glob.js'
import type { ModelPointer } from '../core/route-settings.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import type { Entries } from './entries.js'
import type { ReadModel } from './models.js'
import { listed, quoted } from './report.js'
import type { ReadRoute } from './routes.js'
import { suggest } from './suggest.js'
import { partnersOfProtocol } from './translatable.js'
import type { ReadUpstream } from './upstreams.js'

interface Known {
  readonly models: ReadonlyMap<string, ReadModel>
  readonly upstreams: ReadonlyMap<string, ReadUpstream>
  /** Names of models in which something else is wrong too. */
  readonly modelNames: ReadonlyMap<string, unknown>
}

/**
 * The routes with the models of requests that name none: what is under `default_models` for their protocol, unless a
 * route of the user's own says it itself. Every such model has to be one that the route can serve.
 */
export function withDefaultModels(
  routes: ReadonlyMap<string, ReadRoute>,
  entries: Entries<string>,
  known: Known,
  context: Context,
): ReadonlyMap<string, ReadRoute> {
  const open = new Set([...routes.values()].flatMap(({ config }) => (canLeaveOut(config.model) ? config.protocol : [])))
  const defaults = new Map<string, string>()
  for (const { name: protocol, site, value } of entries.values()) {
    if (value === undefined) continue
    const model = interpolate(value, site, context)
    if (open.has(protocol)) checkModel(model, protocol, site, known, context)
    else refuseProtocol(protocol, site, open, context)
    defaults.set(protocol, model)
  }
  const result = new Map<string, ReadRoute>()
  for (const [name, route] of routes) result.set(name, withDefault(route, defaults, known, context))
  return result
}

/** A path always holds its parameters. */
function canLeaveOut(model: ModelPointer | undefined): model is ModelPointer {
  return model !== undefined && model.from !== 'path'
}

function withDefault(
  route: ReadRoute,
  defaults: ReadonlyMap<string, string>,
  known: Known,
  context: Context,
): ReadRoute {
  const { model, protocol = '', shipped } = route.config
  const byDefault = defaults.get(protocol)
  if (!canLeaveOut(model)) return route
  if (!shipped && model.byDefault !== undefined) {
    checkModel(model.byDefault, protocol, route.site.child('model', 'default'), known, context)
    return route
  }
  return byDefault === undefined ? route : { ...route, config: { ...route.config, model: { ...model, byDefault } } }
}

function refuseProtocol(
  protocol: string,
  site: Site,
  open: ReadonlySet<string | undefined>,
  { report }: Context,
): void {
  const message = `no route with the protocol ${quoted(protocol)} has requests that can omit the model`
  const names = [...open].flatMap(name => name ?? [])
  report.error('dangling-reference', site, message, {
    on: 'key',
    meant: () => suggest(protocol, names),
    from: ['routes', 'interfaces'],
  })
}

function checkModel(
  name: string,
  protocol: string,
  site: Site,
  { models, upstreams, modelNames }: Known,
  { report }: Context,
): void {
  if (isGlob(name)) {
    report.error('bad-value', site, `the default has to be one model, and ${quoted(name)} is a glob`)
    return
  }
  const model =
    models.get(name) ?? [...models].find(([pattern]) => isGlob(pattern) && new Glob(pattern).matches(name))?.[1]
  if (model === undefined) {
    if (modelNames.has(name)) return
    const meant = suggest(name, models.keys())
    const there = meant === undefined ? listed(models.keys()) : undefined
    const message = `no model is called ${quoted(name)}${there === undefined ? '' : `; there are: ${there}`}`
    report.error('dangling-reference', site, message, { meant: () => meant, of: 'models' })
    return
  }
  const speaking = [
    protocol,
    ...partnersOfProtocol(protocol),
    ...declarable(codecOf(protocol)).map(one => one.protocol),
  ]
  const reached = model.config.targets.map(({ upstream }) => upstreams.get(upstream)).filter(one => one !== undefined)
  if (reached.length === 0 || reached.some(({ endpoints }) => speaking.some(one => endpoints.has(one)))) return
  report.error('unreachable-model', site, `no upstream of ${quoted(name)} speaks ${quoted(protocol)}`, {
    from: ['upstreams', 'kinds'],
  })
}
