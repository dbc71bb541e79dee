import { Masker } from '../../core/masks.js'

/** Names and values in their order. */
export type Pairs = readonly (readonly [name: string, value: string])[]

/** Most headers of one message that are kept, and most characters of a value. */
const MAX_HEADERS = 64
const MAX_VALUE_CHARS = 256
/** Names whose kind is remembered. */
const MAX_NAMES = 512
const MASK = '[secret]'
/** Names of headers that carry secrets, and those that only look as if they did. */
const SECRET = /auth|cookie|key|token|secret|signature|credential|session|password|passwd|assertion/
const OPEN = /ratelimit|rate-limit|^x-gateway-|^x-request-id$|^traceparent$|^etag$/
/** Shorter texts do not look like keys. */
const MIN_KEY_CHARS = 16
const MASKER = new Masker(['keys'], [])

type Kind = 'secret' | 'open' | 'text'
const kinds = new Map<string, Kind>()

function kindOf(name: string): Kind {
  const known = kinds.get(name)
  if (known !== undefined) return known
  const lower = name.toLowerCase()
  const kind = OPEN.test(lower) ? 'open' : SECRET.test(lower) ? 'secret' : 'text'
  if (kinds.size < MAX_NAMES) kinds.set(name, kind)
  return kind
}

/**
 * Headers as people may see them: without credentials, and without what looks like a key. `flat`: a name, value list.
 * `shown`: the same for headers that the configuration declares, whose values it has masked itself.
 */
export function maskedHeaders(flat: readonly string[], shown: readonly string[] = []): Pairs {
  const pairs: (readonly [string, string])[] = []
  for (let at = 0; at + 1 < flat.length && pairs.length < MAX_HEADERS; at += 2) {
    const [name = '', value = ''] = [flat[at], flat[at + 1]]
    const declared = shown.findIndex((one, index) => index % 2 === 0 && one.toLowerCase() === name.toLowerCase())
    pairs.push([name, declared < 0 ? maskedValue(name, value) : (shown[declared + 1] ?? MASK)])
  }
  return pairs
}

function maskedValue(name: string, value: string): string {
  const kind = kindOf(name)
  if (kind === 'secret') return MASK
  const text = value.length > MAX_VALUE_CHARS ? `${value.slice(0, MAX_VALUE_CHARS)}…` : value
  return kind === 'open' || text.length < MIN_KEY_CHARS ? text : MASKER.text(text)
}
