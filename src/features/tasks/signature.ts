import { createHmac } from 'node:crypto'
import type { Secret } from '../../core/secret.js'

const PREFIX = 'whsec_'

/**
 * Headers that prove to the receiver who sent a notification and when: an HMAC-SHA256 over id, time and body (Standard
 * Webhooks specification, symmetric signatures). `seconds` since the epoch.
 */
export function signed(id: string, seconds: number, body: string, secret: Secret): readonly string[] {
  const mac = createHmac('sha256', keyOf(secret)).update(`${id}.${seconds}.${body}`).digest('base64')
  return ['webhook-id', id, 'webhook-timestamp', String(seconds), 'webhook-signature', `v1,${mac}`]
}

/** The secret is `whsec_` with base64, or the text's own bytes. */
function keyOf(secret: Secret): Buffer {
  const text = secret.reveal()
  return text.startsWith(PREFIX) ? Buffer.from(text.slice(PREFIX.length), 'base64') : Buffer.from(text)
}
