import { KEPT_MEMBERS } from '../core/stateful.js'
import { removeMember } from './json-edit.js'

/** The body for the upstream of a request whose answer the gateway stores; all other bytes stay unchanged. */
export function withoutKept(bytes: Uint8Array): Uint8Array {
  return KEPT_MEMBERS.reduce((left, name) => removeMember(left, [name]), bytes)
}
