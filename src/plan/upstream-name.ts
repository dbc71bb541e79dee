import type { Found } from './model-index.js'
import type { Endpoint } from './upstreams.js'

/** `.` and `..` between slashes: a server that unescapes before it routes would climb with them. */
const DOTS = /(?:^|\/)\.{1,2}(?:\/|$)/
/** Characters that are escaped in a path and that some servers unescape before they route. */
const ODD = /[/\\%]/g

/**
 * The name by which an endpoint is asked for a model; `undefined` where it has the name in its path and the name is not
 * fit for one. What the configuration writes may hold slashes there, what a client adds through a `*` may not.
 */
export function upstreamName(
  name: string,
  found: Found,
  as: string | undefined,
  { call, stream }: Endpoint,
): string | undefined {
  const declared = found.model
  const asked = asWritten(name, found, as)
  if (!call.placesInPath('model') && !stream.placesInPath('model')) return asked
  const fromClient = as === undefined || as.includes('*')
  return DOTS.test(asked) || (fromClient && oddities(name) > oddities(declared.name)) ? undefined : asked
}

/** The name that a target gives a model. */
export function asWritten(name: string, { star }: Found, as: string | undefined): string {
  return as === undefined ? name : star === undefined ? as : as.replaceAll('*', () => star)
}

function oddities(text: string): number {
  return text.match(ODD)?.length ?? 0
}
