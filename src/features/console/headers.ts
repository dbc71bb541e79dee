import { type Hides, isHidden, isSecretName } from '../../core/hidden-headers.js'
import { Masker } from '../../core/masks.js'

/** Names and values in their order. */
export type Pairs = readonly (readonly [name: string, value: string])[]

/** Most headers of one message that are kept, and most characters of a value. */
const MAX_HEADERS = 64
const MAX_VALUE_CHARS = 256
/** Names whose kind is remembered. */
const MAX_NAMES = 512
const MASK = '[secret]'
/** Further names of headers that carry secrets, and those that only look as if they did. */
const SECRET = /session|passwd|assertion/
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
  const kind = OPEN.test(lower) ? 'open' : isSecretName(lower) || SECRET.test(lower) ? 'secret' : 'text'
  if (kinds.size < MAX_NAMES) kinds.set(name, kind)
  return kind
}

/** By a list of declared headers, their values as they may be shown, by lower-case names. */
const declared = new WeakMap<readonly string[], ReadonlyMap<string, string>>()

function valuesOf(shown: readonly string[]): ReadonlyMap<string, string> {
  const known = declared.get(shown)
  if (known !== undefined) return known
  const values = new Map<string, string>()
  for (let at = 0; at < shown.length; at += 2) values.set(shown[at]?.toLowerCase() ?? '', shown[at + 1] ?? MASK)
  declared.set(shown, values)
  return values
}

/**
 * What is kept of the headers of each request: none that carries a secret, and of no value more than is shown. `flat`: a name,
 * value list. `shown`: the same for headers that the configuration declares, whose values it has masked itself.
 */
export function keptHeaders(flat: readonly string[], hides: Hides, shown: readonly string[] = []): readonly string[] {
  const values = valuesOf(shown)
  const length = Math.min(flat.length - (flat.length % 2), 2 * MAX_HEADERS)
  const kept = new Array<string>(length)
  for (let at = 0; at < length; at += 2) {
    const name = flat[at] as string
    const value = flat[at + 1] as string
    kept[at] = name
    const lower = name.toLowerCase()
    const ours = values.get(lower)
    if (ours !== undefined) kept[at + 1] = ours
    else if (kindOf(name) === 'secret' || isHidden(lower, value, hides)) kept[at + 1] = MASK
    else kept[at + 1] = value.length > MAX_VALUE_CHARS ? `${value.slice(0, MAX_VALUE_CHARS)}…` : value
  }
  return kept
}

/** Headers as people may see them: also without what only looks like a key, which would take most of a request's time. */
export function shownHeaders(kept: readonly string[]): Pairs {
  const pairs: (readonly [string, string])[] = []
  for (let at = 0; at < kept.length; at += 2) {
    const [name = '', value = ''] = [kept[at], kept[at + 1]]
    const isPlain = value === MASK || kindOf(name) !== 'text' || value.length < MIN_KEY_CHARS
    pairs.push([name, isPlain ? value : MASKER.text(value)])
  }
  return pairs
}
