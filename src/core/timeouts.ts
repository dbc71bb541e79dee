import type { Timeouts } from './limits.js'

/** Where `first_byte` alone is written, it holds for streams, too. */
export function withFirstEvent(level: Partial<Timeouts>): Partial<Timeouts> {
  const { first_byte, first_event } = level
  return first_byte === undefined || first_event !== undefined ? level : { ...level, first_event: first_byte }
}
