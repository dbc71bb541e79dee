import { HEALTH_PATHS } from '../core/route-settings.js'

/** Longest path of a route or call. */
const MAX_PATH_CHARS = 2048

/** A route's key taken apart: `GET /v1/files/{id}/content`. */
export interface RoutePattern {
  readonly method: string
  readonly path: string
  /** Names of the parameters, in order. */
  readonly params: readonly string[]
  /** The same for any two routes that match the same requests. */
  readonly shape: string
}

/** Takes a route's key apart, or says what is wrong with it. A segment is plain, `{name}`, `{name}:suffix` or, at the end, `{name*}`. */
export function parseRouteKey(key: string): RoutePattern | { readonly fault: string } {
  const space = key.indexOf(' ')
  const method = key.slice(0, space)
  const path = key.slice(space + 1)
  if (path.length > MAX_PATH_CHARS) return { fault: `the path has more than ${MAX_PATH_CHARS} characters` }
  if (!VISIBLE.test(path)) return { fault: 'the path contains a character that URLs do not allow: percent-encode it' }
  const segments = path.slice(1).split('/')
  const params: string[] = []
  const shapes: string[] = []
  for (const [index, segment] of segments.entries()) {
    if (segment === '.' || segment === '..')
      return { fault: `no request has the segment ${segment}: clients remove it` }
    if (segment === '' && path !== '/')
      return { fault: 'the path has an empty segment: two slashes in a row, or one at its end' }
    const match = PARAMETER.exec(segment)
    if (match === null) {
      if (/[{}]/.test(segment)) return { fault: `expected {name}, {name}:suffix or {name*} in place of ${segment}` }
      shapes.push(segment)
      continue
    }
    const [, name = '', star = '', suffix = ''] = match
    if (params.includes(name)) return { fault: `the parameter {${name}} occurs twice` }
    if (star !== '' && (index !== segments.length - 1 || suffix !== ''))
      return { fault: `{${name}*} matches the rest, so it must be the end of the path` }
    params.push(name)
    shapes.push(`{${star}}${suffix}`)
  }
  return { method, path, params, shape: `${method} /${shapes.join('/')}` }
}

/** Why no route may have the path, or undefined where it may. */
export function reservedFault(path: string): string | undefined {
  return HEALTH_PATHS.includes(path) ? `${path} is answered by the gateway itself` : undefined
}

/** Names in braces that an upstream's call has to be filled in with, or what is wrong with it. `[/{name}]` may be left out. */
export function parseCallTarget(target: string): { readonly params: readonly string[] } | { readonly fault: string } {
  if (target.length > MAX_PATH_CHARS) return { fault: `the path has more than ${MAX_PATH_CHARS} characters` }
  if (!VISIBLE.test(target)) return { fault: 'the path contains a character that URLs do not allow: percent-encode it' }
  if (/[{}]/.test(target.replace(/\{\w+\*?\}/g, '')))
    return { fault: 'an unmatched brace: parameters are written {name}' }
  const needed = target.replace(/\[[^[\]]*\{\w+\}[^[\]]*\]/g, '')
  if (/[[\]]/.test(needed)) return { fault: 'an optional part is written [/{name}], with a parameter in it' }
  return { params: [...needed.matchAll(/\{(\w+)\*?\}/g)].map(match => match[1] ?? '') }
}

const PARAMETER = /^\{([A-Za-z_]\w{0,63})(\*?)\}(:[A-Za-z0-9_.~-]+)?$/
const VISIBLE = /^[\x21-\x7e]+$/
