import type { RouteConfig } from '../core/config.js'
import { RESOURCE_VERBS } from '../core/resources.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { Entries } from './entries.js'
import { lists } from './objects.js'
import type { RawObject, RawRouteMapping } from './raw.generated.js'
import { quoted } from './report.js'
import { suggest } from './suggest.js'
import type { RoutePattern } from './templates.js'

type ResourceAction = Pick<RouteConfig, 'holding' | 'names' | 'holder' | 'session' | 'everyModel' | 'batch' | 'results'>

/** What a route says of things that upstreams keep for callers. */
export function readResourceAction(raw: RawRouteMapping, pattern: RoutePattern): ResourceAction {
  const verb = RESOURCE_VERBS.find(one => raw[one] !== undefined)
  const object = verb === undefined ? undefined : raw[verb]
  const parameter = parameterOf(raw, pattern)
  const { session, batch, results } = raw
  return {
    ...(verb === undefined || object === undefined
      ? {}
      : { holding: { verb, object, ...(parameter === undefined ? {} : { parameter }) } }),
    names: lists(raw.names ?? {}),
    holder: (raw.holder ?? []).map(readHint),
    everyModel: raw.every_model ?? false,
    ...(session === undefined
      ? {}
      : { session: { header: session.header.toLowerCase(), parameter: session.parameter } }),
    ...(batch === undefined ? {} : { batch }),
    ...(results === undefined ? {} : { results }),
  }
}

/** The one parameter of the path that is not the model's. */
function parameterOf(raw: RawRouteMapping, { params }: RoutePattern): string | undefined {
  const others = params.filter(name => raw.model !== `path.${name}`)
  return others.length === 1 ? others[0] : undefined
}

/** `query.model`, `header.x-gateway-model`. The schema has checked the form. */
function readHint(text: string): RouteConfig['holder'][number] {
  const dot = text.indexOf('.')
  const name = text.slice(dot + 1)
  return text.startsWith('header.') ? { from: 'header', name: name.toLowerCase() } : { from: 'query', name }
}

export function checkResourceAction(
  raw: RawRouteMapping,
  pattern: RoutePattern,
  objects: Entries<RawObject>,
  site: Site,
  { report }: Context,
): void {
  const verbs = RESOURCE_VERBS.filter(verb => raw[verb] !== undefined)
  for (const verb of verbs.slice(1)) {
    const message = `a route has one action on objects; remove one of ${verbs[0]} and ${verb}`
    report.error('conflict', site.child(verb), message, { on: 'key' })
  }
  const [verb] = verbs
  if (verb !== undefined) {
    refer(raw[verb] ?? '', site.child(verb))
    if (verb !== 'makes' && verb !== 'lists' && parameterOf(raw, pattern) === undefined) {
      const message = 'the path has to name the object by one parameter, such as {id}'
      report.error('missing-key', site.child(verb), message, { on: 'key' })
    }
  }
  // What comes with the gateway may name kinds of an interface that is not chosen: there is nothing of them then.
  for (const name of Object.keys(raw.names ?? {})) {
    if (!site.document.shipped) refer(name, site.child('names', name), 'key')
  }
  for (const member of ['holder', 'session', 'batch'] as const) {
    if (raw[member] !== undefined && verb !== 'makes') {
      report.error('conflict', site.child(member), `${member} is only for routes with makes`, { on: 'key' })
    }
  }
  if (raw.results !== undefined && verb !== 'uses') {
    report.error('conflict', site.child('results'), 'results is only for routes with uses', { on: 'key' })
  }
  for (const member of ['model', 'holder'] as const) {
    if (raw.batch === undefined || raw[member] === undefined) continue
    const message = `the models of the requests in a batch decide which upstream keeps it; remove ${member}`
    report.error('conflict', site.child(member), message, { on: 'key' })
  }

  function refer(name: string, place: Site, on: 'key' | 'value' = 'value'): void {
    if (objects.has(name)) return
    report.error('dangling-reference', place, `no object is called ${quoted(name)}`, {
      on,
      meant: () => suggest(name, objects.keys()),
      of: 'objects',
    })
  }
}
