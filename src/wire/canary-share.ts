import { hash } from 'node:crypto'
import type { Canary } from '../core/strategy.js'
import type { RequestView } from './request-view.js'

const WORDS = 2 ** 32

/**
 * Whether a request is in the share of a canary. What requests have in common decides, so that they stay together; with a larger
 * share, those that were in it stay. Canaries do not get the same ones each time.
 */
export function isInShare({ of, to, share, by }: Canary, request: RequestView, random: () => number): boolean {
  if (by === 'request') return random() < share
  const common = request.digest({ by: 'sticky', to: by, prefix: 0 })
  const place = hash('sha256', Buffer.concat([Buffer.from(JSON.stringify([of, to])), common]), 'buffer')
  return place.readUInt32BE(0) / WORDS < share
}
