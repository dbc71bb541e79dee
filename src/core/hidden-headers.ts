import type { Placement } from './placement.js'

/** Names of headers whose values may be secrets, from clients and upstreams alike. */
const SECRET_NAMES = /auth|cookie|key|token|secret|password|credential|signature|sec-websocket-protocol/i

/** What hides a header besides its name. */
export interface Hides {
  /** Names in lower case. */
  readonly names: readonly string[]
  /** Values that no one may see, also as a part of others. */
  readonly secrets: readonly string[]
}

/** Whether a name says that the header may carry a secret. */
export function isSecretName(name: string): boolean {
  return SECRET_NAMES.test(name)
}

/** Headers from which a route reads keys: they may have any name. */
export function keyHeaders(placements: readonly Placement[]): readonly string[] {
  return placements.flatMap(place => (place.in === 'header' ? [place.name.toLowerCase()] : []))
}

/** `name`: in lower case. */
export function isHidden(name: string, value: string, { names, secrets }: Hides): boolean {
  return names.includes(name) || secrets.some(secret => value.includes(secret))
}
