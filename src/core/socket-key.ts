import { createHash } from 'node:crypto'

/** GUID of RFC 6455 §1.3. */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'

/** The answer to a client's `sec-websocket-key` (RFC 6455 §4.2.2). */
export function acceptOf(key: string): string {
  return createHash('sha1')
    .update(key + GUID)
    .digest('base64')
}
