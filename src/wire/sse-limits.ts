/** Bounds of an event stream, in bytes: one line without its end, and one event up to its blank line. */
export interface SseLimits {
  readonly line: number
  readonly event: number
}

/** An event stream went beyond a bound. */
export class WireLimitError extends Error {
  override readonly name = 'WireLimitError'
  readonly limit: keyof SseLimits

  constructor(limit: keyof SseLimits) {
    super(`an event stream is over the limit of its ${limit}`)
    this.limit = limit
  }
}

/**
 * The bound that an event meets first, if any, with `line` bytes of a line behind `before` bytes of earlier lines. The
 * answer does not depend on how much of the line has arrived, once it is over a bound.
 */
export function overLimit(limits: SseLimits, before: number, line: number): keyof SseLimits | undefined {
  const roomInEvent = limits.event - before
  if (line <= limits.line && line <= roomInEvent) return undefined
  return limits.line <= roomInEvent ? 'line' : 'event'
}
