import { randomFillSync } from 'node:crypto'

/** Random bytes that one call of the system gives for many ids. */
const POOL_BYTES = 4096

const pool = Buffer.alloc(POOL_BYTES)
let digits = ''
let used = 0

/** So many random bytes in lower-case hex, at most {@link POOL_BYTES}. */
export function randomHex(bytes: number): string {
  if (used + 2 * bytes > digits.length) {
    digits = randomFillSync(pool).toString('hex')
    used = 0
  }
  used += 2 * bytes
  return digits.slice(used - 2 * bytes, used)
}
