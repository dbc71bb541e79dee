import type { Source } from './relay.js'

/** Whether a credential of ours stands in what an upstream sent. */
export function holdsSecret(bytes: Uint8Array | string, { call, exchange }: Source): boolean {
  const held = typeof bytes === 'string' ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  return call.generation.reach(exchange.upstream).secrets.some(secret => held.includes(secret))
}
