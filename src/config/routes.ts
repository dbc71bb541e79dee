import type { RouteConfig } from '../core/config.js'
import { DEFAULTS } from '../core/defaults.generated.js'
import type { Family } from '../core/errors.js'
import type { JsonObject } from '../core/json.js'
import type { Placement } from '../core/placement.js'
import type { FamilyMark } from '../core/route-settings.js'
import { checkAliasPath, readAliasPath, shapesOfAliasPath } from './alias-path.js'
import { type Context, interpolate } from './context.js'
import type { Site } from './document.js'
import { type Entries, type Entry, placeOf, sectionOf } from './entries.js'
import { inlineSchemas, schemaName } from './inline-schemas.js'
import { checkUpstream } from './models.js'
import type {
  RawPlacement,
  RawResourceKind,
  RawRouteDefaults,
  RawRouteMapping,
  RawTaskKind,
  RawUpstream,
} from './raw.generated.js'
import { quoted } from './report.js'
import { checkResourceAction, readResourceAction } from './resource-action.js'
import {
  checkBody,
  checkChanges,
  checkFraming,
  checkParts,
  checkSocket,
  defaultBody,
  readFraming,
  readModelPointer,
  readStream,
} from './route-parts.js'
import { readLimits, readRetry, readTimeouts } from './settings.js'
import { suggest } from './suggest.js'
import { checkTaskKind } from './task-kinds.js'
import { readRouteTask } from './tasks.js'
import { parseRouteKey, type RoutePattern, reservedFault } from './templates.js'
import { readVerbs } from './verbs.js'

/** A route, its pattern, and where it is written. */
export interface ReadRoute {
  readonly config: RouteConfig
  readonly pattern: RoutePattern
  readonly site: Site
  /** Schemas that are written in the route, by the names that `config` has for them. */
  readonly schemas: ReadonlyMap<string, JsonObject>
}

/** The default places of callers' keys. */
const DEFAULT_CALLER: readonly Placement[] = [{ in: 'header', name: 'authorization', scheme: 'Bearer' }]

/** What routes may refer to. */
interface Known {
  readonly upstreams: Entries<RawUpstream>
  readonly resourceKinds: Entries<RawResourceKind>
  readonly taskKinds: Entries<RawTaskKind>
}

/** The shipped routes and the user's: an entry with the key of a shipped one replaces it, `off` leaves it out. */
export function readRoutes(
  shipped: Entries<RawRouteMapping | 'off'>,
  own: Entries<RawRouteMapping | 'off'>,
  known: Known,
  context: Context,
): ReadonlyMap<string, ReadRoute> {
  const routes = new Map<string, ReadRoute>()
  for (const entry of [...shipped.values(), ...own.values()]) {
    if (own.has(entry.name) && own.get(entry.name) !== entry) continue
    if (entry.value === 'off') refuseUselessOff(entry, shipped, context)
    if (entry.value === 'off' || entry.value === undefined) continue
    const route = readRoute(entry, entry.value, known, context)
    if (route !== undefined) routes.set(entry.name, route)
  }
  refuseClashes(routes, context)
  return routes
}

function refuseUselessOff(
  entry: Entry<RawRouteMapping | 'off'>,
  shipped: Entries<RawRouteMapping | 'off'>,
  { report }: Context,
): void {
  if (shipped.has(entry.name)) return
  const message = 'no shipped route has this key, so off has no effect'
  report.error('unknown-route', entry.site, message, {
    on: 'key',
    meant: () => suggest(entry.name, shipped.keys()),
    from: ['interfaces'],
  })
}

function readRoute(
  entry: Entry<unknown>,
  written: RawRouteMapping,
  { upstreams, resourceKinds, taskKinds }: Known,
  context: Context,
): ReadRoute | undefined {
  const { site, name } = entry
  const pattern = parseRouteKey(name)
  if ('fault' in pattern) {
    context.report.error('bad-route', site, pattern.fault, { on: 'key' })
    return undefined
  }
  const reserved = reservedFault(pattern.path)
  if (reserved !== undefined) {
    context.report.error('reserved-route', site, reserved, { on: 'key' })
    return undefined
  }
  const raw = interpolate(written, site, context)
  const defaults: RawRouteDefaults = sectionOf(site.document, 'defaults') ?? {}
  const model = readModelPointer(raw, pattern, site, context)
  const task = readRouteTask(raw, pattern, site, context)
  if (raw.task !== undefined) checkTaskKind(raw.task.kind, site.child('task', 'kind'), taskKinds, context)
  checkParts(raw, site, context)
  checkChanges(raw, site, context)
  checkFraming(raw, site, context)
  checkSocket(raw, pattern, site, context)
  checkResourceAction(raw, pattern, resourceKinds, site, context)
  checkAliasPath(raw, pattern, site, context)
  if (raw.upstream !== undefined) checkUpstream(raw.upstream, site.child('upstream'), upstreams, context)
  const prefixes = raw.prefixes ?? defaults.prefixes ?? {}
  const config: RouteConfig = {
    caller: placements(raw.caller ?? defaults.caller),
    errors: raw.errors ?? defaults.errors ?? DEFAULTS.routeDefaults.errors,
    families: readFamilies(raw.families),
    ...(Object.keys(prefixes).length === 0 ? {} : { prefixes }),
    ...(raw.also === undefined ? {} : { also: readAliasPath(raw.also) }),
    ...(raw.protocol === undefined ? {} : { protocol: raw.protocol }),
    ...(raw.answer === undefined ? {} : { answer: raw.answer }),
    ...(task === undefined ? {} : { task }),
    ...(model === undefined ? {} : { model }),
    stream: readStream(raw.stream),
    framing: readFraming(raw.framing),
    ...(raw.tunnel === undefined ? {} : { tunnel: raw.tunnel }),
    strict: raw.strict ?? false,
    ...(raw.schema === undefined ? {} : { schema: schemaName(raw.schema, name, 'schema') }),
    ...(raw.json === undefined ? {} : { json: schemaName(raw.json, name, 'json') }),
    ...(raw.request === undefined ? {} : { request: readVerbs(raw.request, site.child('request'), context) }),
    ...(raw.upstream === undefined ? {} : { upstream: raw.upstream }),
    timeouts: readTimeouts(raw.timeouts, site.child('timeouts'), context),
    retry: readRetry(raw.retry, site.child('retry'), context),
    limits: readLimits(raw.limits, site.child('limits'), context),
    ...readResourceAction(raw, pattern),
    body: raw.body ?? defaultBody(raw, pattern.method),
    shipped: site.document.shipped,
  }
  checkBody(config, site, context)
  return { config, pattern, site, schemas: inlineSchemas(written, name) }
}

/** In the order in which they are written. */
function readFamilies(raw: RawRouteMapping['families'] = {}): readonly FamilyMark[] {
  const marks = Object.entries(raw) as [Family, string][]
  return marks.map(([family, header]) => ({ family, header: header.toLowerCase() }))
}

function placements(raw: RawPlacement | readonly RawPlacement[] | undefined): readonly Placement[] {
  return raw === undefined ? DEFAULT_CALLER : [raw].flat().map(placement)
}

function placement(raw: RawPlacement): Placement {
  if (raw.in === 'subprotocol') return { in: 'subprotocol', prefix: raw.prefix }
  if (raw.in === 'query') return { in: 'query', name: raw.name }
  return {
    in: 'header',
    name: raw.name.toLowerCase(),
    ...(raw.scheme === undefined ? {} : { scheme: raw.scheme }),
  }
}

/** Two routes that match the same requests: neither can win. */
function refuseClashes(routes: ReadonlyMap<string, ReadRoute>, { report }: Context): void {
  const shapes = new Map<string, [string, ReadRoute]>()
  for (const [name, route] of routes) {
    const own = shapesOf(route)
    const clash = own.find(shape => shapes.has(shape))
    const first = clash === undefined ? undefined : shapes.get(clash)
    if (first === undefined) {
      for (const shape of own) shapes.set(shape, [name, route])
      continue
    }
    const [firstName, { site, config }] = first
    const cure = config.shipped ? `; to replace that one, write its key: ${firstName}` : ''
    report.error(
      'route-clash',
      route.site,
      `${quoted(firstName)} at ${placeOf(site)} matches the same requests${cure}`,
      { on: 'key', ...(config.shipped ? { from: ['interfaces'] } : {}) },
    )
  }
}

/** One for the path as it is written, and one for each of its prefixes and for each way in which it is reached else. */
function shapesOf({ pattern: { method, shape }, config: { prefixes = {}, also } }: ReadRoute): readonly string[] {
  const path = shape.slice(method.length + 1)
  const behind = Object.keys(prefixes).map(prefix => `${method} /${prefix}${path}`)
  return [shape, ...behind, ...(also === undefined ? [] : shapesOfAliasPath(method, also))]
}
