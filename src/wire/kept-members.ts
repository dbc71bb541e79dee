import { KEPT_MEMBERS } from '../core/stateful.js'
import { removeMember } from './json-edit.js'

/** The body of a request whose answer the gateway keeps, as upstreams get it; every other byte stays as it came. */
export function withoutKept(bytes: Uint8Array): Uint8Array {
  return KEPT_MEMBERS.reduce((left, name) => removeMember(left, [name]), bytes)
}
