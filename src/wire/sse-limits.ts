/** Limits of an event stream, in bytes: one line without its end, and one event up to its blank line. */
export interface SseLimits {
  readonly line: number
  readonly event: number
}

/** An event stream exceeded a limit. */
export class WireLimitError extends Error {
  override readonly name = 'WireLimitError'
  readonly limit: keyof SseLimits

  constructor(limit: keyof SseLimits) {
    super(`an event stream is over the limit of its ${limit}`)
    this.limit = limit
  }
}

/**
 * The limit that an event exceeds first, if any, with `line` bytes of a line after `before` bytes of earlier lines. Once a
 * line is over a limit, the result does not depend on how much of it has arrived.
 */
export function overLimit(limits: SseLimits, before: number, line: number): keyof SseLimits | undefined {
  const roomInEvent = limits.event - before
  if (line <= limits.line && line <= roomInEvent) return undefined
  return limits.line <= roomInEvent ? 'line' : 'event'
}
