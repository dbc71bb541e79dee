import type { JsonObject } from '../core/json.js'
import type { RawRouteMapping } from './raw.generated.js'

/** Names of schemas have no spaces, so these are like none of them. */
export function schemaName(written: string | JsonObject, route: string, member: 'schema' | 'json'): string {
  return typeof written === 'string' ? written : `${route} ${member}`
}

/** Request schemas that a route has in itself, by {@link schemaName}. */
export function inlineSchemas(raw: RawRouteMapping, route: string): ReadonlyMap<string, JsonObject> {
  const own = (['schema', 'json'] as const).flatMap(member => {
    const written = raw[member]
    return typeof written === 'object' ? [[schemaName(written, route, member), written] as const] : []
  })
  return new Map(own)
}
