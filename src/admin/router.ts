import type { JsonObject } from '../core/json.js'
import { AdminError, type AdminRequest, type AdminRoute, type Schema } from './route.js'

interface Found {
  readonly route: AdminRoute
  readonly params: AdminRequest['params']
}

/** Finds the route of a request in a table. Throws `not_found` or `method_not_allowed`. */
export function routeOf(table: readonly AdminRoute[], method: string, path: string): Found {
  const there = table.flatMap(route => {
    const params = paramsOf(route.path, path)
    return params === undefined ? [] : [{ route, params }]
  })
  const found = there.find(({ route }) => serves(route, method))
  if (found !== undefined) return found
  if (there.length === 0) throw new AdminError(404, 'not_found', 'the admin API has no such path')
  const allow = there.flatMap(({ route }) => (serves(route, 'HEAD') ? ['GET', 'HEAD'] : [route.method]))
  throw new AdminError(405, 'method_not_allowed', `only ${allow.join(', ')} is accepted here`, { allow })
}

/** HEAD is a GET whose body is not sent: not of a stream, which may never end, and not where a browser signs in. */
export function serves({ method, stream, isNavigation }: AdminRoute, asked: string): boolean {
  if (asked !== 'HEAD') return asked === method
  return method === 'GET' && stream === undefined && isNavigation !== true
}

/** The path's parameters, decoded; undefined where it is another path. */
function paramsOf(pattern: string, path: string): AdminRequest['params'] | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = Object.create(null)
  for (const [at, segment] of wanted.entries()) {
    const text = given[at] ?? ''
    if (!segment.startsWith('{')) {
      if (segment !== text) return undefined
    } else {
      const value = decoded(text)
      if (value === undefined || value === '') return undefined
      params[segment.slice(1, -1)] = value
    }
  }
  return params
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** The query's parameters: each once, and only those that the route knows. Other servers may add what they like. */
export function queryOf({ query = {}, isNavigation }: AdminRoute, text: string): AdminRequest['query'] {
  const given: Record<string, string> = Object.create(null)
  for (const [name, value] of new URLSearchParams(text)) {
    if (isNavigation === true && !Object.hasOwn(query, name)) continue
    if (!Object.hasOwn(query, name)) throw unknown('parameter', name, Object.keys(query))
    if (given[name] !== undefined) throw new AdminError(400, 'invalid_parameter', `${name} is given twice`)
    given[name] = value
  }
  return given
}

/** Checks the names of a body's members; their values are the handler's concern. */
export function checkBody({ body }: AdminRoute, given: JsonObject): void {
  const { properties = {}, required = [] } = (body ?? {}) as {
    properties?: Readonly<Record<string, Schema>>
    required?: readonly string[]
  }
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(properties, name)) throw unknown('member', name, Object.keys(properties))
  }
  for (const name of required) {
    if (given[name] === undefined) throw new AdminError(400, 'invalid_request', `"${name}" is missing`)
  }
}

function unknown(what: string, name: string, known: readonly string[]): AdminError {
  const those = known.length === 0 ? 'there are none here' : `known here: ${known.join(', ')}`
  return new AdminError(400, 'invalid_request', `unknown ${what} "${name.slice(0, 64)}"; ${those}`)
}
