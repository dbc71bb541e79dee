import type { AlsoConfig } from '../core/config.js'
import type { Context } from './context.js'
import type { Site } from './document.js'
import type { RawRouteMapping } from './raw.generated.js'
import { parseRouteKey, type RoutePattern, reservedFault } from './templates.js'

/** Another path of a route, where requests with certain headers are its own though others are another route's. */
export function readAliasPath({ path, with: headers = [] }: NonNullable<RawRouteMapping['also']>): AlsoConfig {
  return { path, with: headers.map(name => name.toLowerCase()) }
}

/** It has to be a path, with the very parameters that the route has. */
export function checkAliasPath(
  { also }: RawRouteMapping,
  { method, params, shape }: RoutePattern,
  site: Site,
  { report }: Context,
): void {
  if (also === undefined) return
  const place = site.child('also', 'path')
  const pattern = parseRouteKey(`${method} ${also.path}`)
  if ('fault' in pattern) {
    report.error('bad-route', place, pattern.fault)
    return
  }
  const reserved = reservedFault(also.path)
  if (reserved !== undefined) report.error('reserved-route', place, reserved)
  if (pattern.shape === shape) report.error('route-clash', place, "this is already the route's path")
  for (const name of params.filter(one => !pattern.params.includes(one)))
    report.error('missing-key', place, `the route's path has the parameter {${name}}, this path does not`)
  for (const name of pattern.params.filter(one => !params.includes(one)))
    report.error('unknown-parameter', place, `the route's own path has no parameter {${name}}`)
}

/** What no two routes may have in common: the shape of the path, for each of the headers that tell its requests. */
export function shapesOfAliasPath(method: string, { path, with: headers }: AlsoConfig): readonly string[] {
  const pattern = parseRouteKey(`${method} ${path}`)
  if ('fault' in pattern) return []
  return headers.length === 0 ? [pattern.shape] : headers.map(name => `${pattern.shape} with ${name}`)
}
