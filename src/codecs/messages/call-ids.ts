import { Buffer } from 'node:buffer'

/** Ids of calls are `^[a-zA-Z0-9_-]+$` in this protocol; others are written in base64url behind this. */
const PREFIX = 'gw1-'

const PLAIN = /^[a-zA-Z0-9_-]+$/

export function encodeCallId(id: string): string {
  return PLAIN.test(id) && !id.startsWith(PREFIX) ? id : PREFIX + Buffer.from(id, 'utf8').toString('base64url')
}

/** The id that {@link encodeCallId} wrote; any other as it is. */
export function decodeCallId(wire: string): string {
  if (!wire.startsWith(PREFIX)) return wire
  const id = Buffer.from(wire.slice(PREFIX.length), 'base64url').toString('utf8')
  return encodeCallId(id) === wire ? id : wire
}
