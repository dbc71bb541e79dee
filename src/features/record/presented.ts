import { isSecretName, keyHeaders } from '../../core/hidden-headers.js'
import type { Route } from '../../core/plan.js'
import type { Call } from '../../kernel/call.js'

/** Shorter texts are not credentials: `Bearer`, `Basic`, the name of a subprotocol. */
const MIN_CREDENTIAL_CHARS = 12

/** Texts that the client presented as credentials: it may repeat them in what it says. */
export function presentedIn({ request, query }: Call, { caller }: Route): readonly string[] {
  const named = keyHeaders(caller)
  const prefixes = caller.flatMap(place => (place.in === 'subprotocol' ? [place.prefix] : []))
  const inHeaders = Object.entries(request.headers).flatMap(([name, value]) =>
    isSecretName(name) || named.includes(name) ? String(value).split(/[\s,]+/) : [],
  )
  const inQuery = caller.flatMap(place => (place.in === 'query' ? (query?.getAll(place.name) ?? []) : []))
  return [...inHeaders, ...inQuery]
    .map(text => text.slice(prefixes.find(prefix => text.startsWith(prefix))?.length ?? 0))
    .filter(text => text.length >= MIN_CREDENTIAL_CHARS)
}
