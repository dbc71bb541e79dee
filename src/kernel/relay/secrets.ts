import type { Source } from './relay.js'

/** Whether an upstream's text contains one of the gateway's credentials. */
export function containsSecret(bytes: Uint8Array | string, { call, exchange }: Source): boolean {
  const held = typeof bytes === 'string' ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return call.generation.reach(exchange.upstream).secrets.some(secret => held.includes(secret))
}
