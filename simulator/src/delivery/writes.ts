import type { Faults } from '../faults/table.js'
import type { Step } from './steps.js'

/** Writes bytes, all at once or so many at a time with a turn of the event loop between. */
export function* writes(pieces: Iterable<Uint8Array>, { split }: Faults): Generator<Step> {
  for (const piece of pieces) {
    const size = split === undefined || split === 0 ? piece.length : split
    for (let from = 0; from < piece.length; from += size) {
      if (split !== undefined) yield { do: 'wait', milliseconds: 0 }
      yield { do: 'write', bytes: piece.subarray(from, from + size) }
    }
  }
}
