import type { Faults } from '../faults/table.js'
import type { Writing } from '../protocol.js'
import type { Step } from './steps.js'

const BREAKS = ['reset-after', 'hang-after', 'cut-after', 'fin-after', 'error-after'] as const
const PING = Buffer.from(': ping\n\n')
/** White space, which JSON allows between the elements of an array (RFC 8259, section 2). */
const BARE_PING = Buffer.from('\n')
const DEFAULT_PING_INTERVAL_MS = 20

export type BreakName = (typeof BREAKS)[number]

/** Where an answer breaks off. */
export interface Break {
  readonly name: BreakName
  /** After how many events. */
  readonly after: number
}

/** The earliest of the breaks that were asked for. */
export function breakOf(faults: Faults): Break | undefined {
  return BREAKS.map(name => ({ name, after: faults[name] ?? Number.POSITIVE_INFINITY }))
    .filter(each => each.after < Number.POSITIVE_INFINITY)
    .toSorted((a, b) => a.after - b.after)[0]
}

export function* breakOff(name: BreakName, faults: Faults, writing?: Writing): Generator<Step> {
  const bytes = writing === 'bare' ? BARE_PING : PING
  switch (name) {
    case 'reset-after':
      return yield { do: 'reset' }
    case 'hang-after':
      return yield { do: 'hang', ping: faults.pings && { bytes, every: faults.pace ?? DEFAULT_PING_INTERVAL_MS } }
    case 'cut-after':
      return yield { do: 'close' }
    case 'fin-after':
    case 'error-after':
      return yield { do: 'end', trailers: undefined }
  }
}
