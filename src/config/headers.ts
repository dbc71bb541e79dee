import { CONNECTION_HEADERS } from '../core/connection-headers.js'
import type { Context } from './context.js'
import type { Site } from './document.js'

/** Headers that carry a credential (RFC 9110 section 11, RFC 6265) or belong to one connection (RFC 9110 section 7.6.1). */
const CREDENTIALS = new Set(['authorization', 'proxy-authorization', 'cookie', 'set-cookie'])
const CONNECTION = new Set([...CONNECTION_HEADERS, 'content-length', 'expect', 'host'])

/** Names of headers that usually hold a key. */
const KEY_LIKE = /(?:api-?key|token|secret|password)$/

/** Reports a value that has become no header's by its variables: what is written has the right form by the schema. */
export function checkHeaderValue(value: string, site: Site, { report }: Context): void {
  if (!/^[\t\x20-\x7e]*$/.test(value)) {
    report.error('bad-value', site, 'the value of a header is printable ASCII on one line')
  }
}

/** Declared headers with lower-case names. Names have the right form by the schema. */
export function checkHeaders(
  headers: Readonly<Record<string, string>>,
  site: Site,
  context: Context,
): Record<string, string> {
  const { report } = context
  const checked: Record<string, string> = Object.create(null)
  for (const [name, value] of Object.entries(headers)) {
    const place = site.child(name)
    const lower = name.toLowerCase()
    if (CREDENTIALS.has(lower)) {
      report.error('reserved-header', place, `${lower} holds a credential: use credential and secret`, {
        on: 'key',
        secret: true,
      })
    } else if (CONNECTION.has(lower)) {
      report.error('reserved-header', place, `${lower} is set by the gateway itself`, { on: 'key' })
    } else if (Object.hasOwn(checked, lower)) {
      report.error('duplicate-key', place, `the header ${lower} is set twice: names are case-insensitive`, {
        on: 'key',
      })
    } else if (KEY_LIKE.test(lower)) {
      report.warn('literal-secret', place, `${lower} looks like a credential: use credential and secret`, {
        on: 'key',
        secret: true,
      })
    }
    checkHeaderValue(value, place, context)
    checked[lower] = value
  }
  return checked
}

/** Names and globs of headers that pass, lower case. */
export function checkForward(names: readonly string[], site: Site, { report }: Context): readonly string[] {
  for (const [index, name] of names.entries()) {
    const lower = name.toLowerCase()
    if (CREDENTIALS.has(lower) || CONNECTION.has(lower)) {
      const why = CREDENTIALS.has(lower) ? 'holds a credential' : 'belongs to one connection'
      report.error('reserved-header', site.child(index), `${lower} ${why} and never passes`)
    }
  }
  return names.map(name => name.toLowerCase())
}

/** A header that a choice among targets may depend on: not one that proves who calls. `site`: of its name. */
export function checkNoCredential(name: string, site: Site, { report }: Context): void {
  const lower = name.toLowerCase()
  if (!CREDENTIALS.has(lower) && !KEY_LIKE.test(lower)) return
  report.error('reserved-header', site, `${lower} holds a credential, which must not choose a target: use key or group`)
}
