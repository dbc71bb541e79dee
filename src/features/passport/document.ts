import type { Caller } from '../../core/caller.js'
import type { JsonObject } from '../../core/json.js'
import type { Placement } from '../../core/placement.js'
import type { Plan, RouteSchema } from '../../core/plan.js'
import { CallerModels } from './models.js'
import { operationOf, pathOf, refusals, type Shared } from './operation.js'
import { permittedRoutes } from './permitted.js'
import { asComponents, componentName } from './schemas.js'

/**
 * What a caller may do, as an OpenAPI 3.1 document: the routes that it may use and that something serves, their request
 * schemas, its models as enums, and what translation leaves out. WebSockets are `GET` with the answer 101. Of two routes
 * with one path, which a header tells apart, the first is there.
 */
export function passportOf(plan: Plan, caller: Caller): JsonObject {
  const models = new CallerModels(plan, caller)
  const schemas: Record<string, JsonObject> = {}
  const schemes = new Map<string, JsonObject>()
  const shared: Shared = {
    models,
    isStrict: caller.strict,
    schema: ({ name, document }: RouteSchema) => {
      const component = componentName(name)
      if (schemas[component] === undefined) Object.assign(schemas, asComponents(document, component))
      return { $ref: `#/components/schemas/${component}` }
    },
    answer: ({ name, schema }) => {
      const component = componentName(`${name}.answer`)
      schemas[component] ??= schema
      return { $ref: `#/components/schemas/${component}` }
    },
    security: placement => {
      const scheme = schemeOf(placement)
      if (scheme !== undefined) schemes.set(scheme.name, scheme.object)
      return scheme?.name
    },
  }
  const paths = new Map<string, { readonly path: string; readonly operations: Record<string, JsonObject> }>()
  for (const permitted of permittedRoutes(plan, caller, models)) {
    const path = pathOf(permitted.route)
    // Two templates that differ only in the names of parameters are one path.
    const shape = path.replace(/\{\w+\}/g, '{}')
    const entry = paths.get(shape) ?? { path, operations: {} }
    paths.set(shape, entry)
    const method = permitted.route.method === 'WS' ? 'get' : permitted.route.method.toLowerCase()
    const { path: first } = entry
    if (first === path) entry.operations[method] ??= operationOf(permitted, shared)
    else entry.operations[method] ??= renamed(operationOf(permitted, shared), path, first)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: `What the key ${caller.name} may do`,
      // The same configuration and key give the same document.
      version: plan.digest.slice(0, 12),
      description:
        'Request schemas are what the gateway checks. Those of answers say what clients can rely on; upstreams may add members.',
    },
    paths: Object.fromEntries([...paths.values()].map(({ path, operations }) => [path, operations])),
    components: {
      securitySchemes: Object.fromEntries(schemes),
      responses: refusals(plan),
      schemas: { ...models.components, ...schemas },
    },
  }
}

/** An operation whose parameters have the names of another path of the same shape. */
function renamed(operation: JsonObject, from: string, to: string): JsonObject {
  const [before, after] = [from, to].map(path => [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name))
  const parameters = Array.isArray(operation.parameters) ? (operation.parameters as readonly JsonObject[]) : []
  return {
    ...operation,
    parameters: parameters.map(one => {
      const at = one.in === 'path' ? (before ?? []).indexOf(String(one.name)) : -1
      return at < 0 ? one : { ...one, name: after?.[at] ?? String(one.name) }
    }),
  }
}

/** A key in a subprotocol is nothing that OpenAPI knows. */
function schemeOf(placement: Placement): { readonly name: string; readonly object: JsonObject } | undefined {
  if (placement.in === 'subprotocol') return undefined
  const isBearer =
    placement.in === 'header' &&
    placement.scheme?.toLowerCase() === 'bearer' &&
    placement.name.toLowerCase() === 'authorization'
  if (isBearer) return { name: 'bearer', object: { type: 'http', scheme: 'bearer' } }
  const scheme =
    placement.in === 'header' && placement.scheme !== undefined ? ` The value begins with ${placement.scheme}.` : ''
  return {
    name: componentName(`${placement.in}-${placement.name}`),
    object: { type: 'apiKey', in: placement.in, name: placement.name, description: `The key.${scheme}` },
  }
}
