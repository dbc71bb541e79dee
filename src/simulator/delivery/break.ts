import type { Faults } from '../faults/table.js'
import type { Step } from './steps.js'

const BREAKS = ['reset-after', 'hang-after', 'cut-after', 'fin-after', 'error-after'] as const
const PING = Buffer.from(': ping\n\n')
const PING_EVERY = 20

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

export function* breakOff(name: BreakName, faults: Faults): Generator<Step> {
  switch (name) {
    case 'reset-after':
      return yield { do: 'reset' }
    case 'hang-after':
      return yield { do: 'hang', ping: faults.pings && { bytes: PING, every: faults.pace ?? PING_EVERY } }
    case 'cut-after':
      return yield { do: 'close' }
    case 'fin-after':
    case 'error-after':
      return yield { do: 'end', trailers: undefined }
  }
}
