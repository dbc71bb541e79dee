import { KEPT_MEMBERS } from '../core/stateful.js'
import { removeMember, setValue } from './json-edit.js'

/** The body for the upstream of a request whose answer the gateway stores; all other bytes stay unchanged. */
export function withoutKept(bytes: Uint8Array): Uint8Array {
  return KEPT_MEMBERS.reduce((left, name) => removeMember(left, [name]), bytes)
}

/** The body of a response that the gateway itself runs in the background: its upstream is asked for an ordinary stream. */
export function inForeground(bytes: Uint8Array): Uint8Array {
  return setValue(setValue(bytes, ['background'], 'false', 'always'), ['stream'], 'true', 'always')
}
