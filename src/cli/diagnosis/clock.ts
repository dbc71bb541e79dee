import { fault, ok, type Result, skipped, warning } from './result.js'

/** By so much two clocks may differ that are both set, milliseconds. */
const CLOSE_MS = 30_000
/** Beyond this, signatures and tokens are refused. */
const FAR_MS = 300_000
const ADVICE = 'Let this machine set its clock (timedatectl set-ntp true).'

/** This machine's clock, by the middle one of what servers said. Milliseconds by which they are ahead. */
export function clockOf(skews: readonly number[]): Result {
  const sorted = [...skews].sort((a, b) => a - b)
  const skew = sorted[Math.floor(sorted.length / 2)]
  if (skew === undefined) return skipped('clock', 'this machine', 'no server said what time it is')
  const seconds = Math.round(Math.abs(skew) / 1000)
  const found = `${seconds} s ${skew > 0 ? 'behind' : 'ahead of'} the clocks of ${sorted.length === 1 ? 'an upstream' : `${sorted.length} upstreams`}`
  if (Math.abs(skew) > FAR_MS) return fault('clock', 'this machine', found, ADVICE)
  return Math.abs(skew) > CLOSE_MS
    ? warning('clock', 'this machine', found, ADVICE)
    : ok('clock', 'this machine', found)
}
