import { GatewayError } from './errors.js'

/** Of the process, and of the whole machine. */
const CODES: ReadonlySet<unknown> = new Set(['EMFILE', 'ENFILE'])
/** Causes that are followed. */
const MAX_CAUSES = 5

/** Whether an operation failed since no file descriptor was left, also if the error was wrapped. */
export function isOutOfDescriptors(error: unknown): boolean {
  let one = error
  for (let depth = 0; depth < MAX_CAUSES && one instanceof Error; depth++) {
    if ('code' in one && CODES.has(one.code)) return true
    if (one instanceof AggregateError)
      return one.errors.some(inner => inner instanceof Error && isOutOfDescriptors(inner))
    one = one.cause
  }
  return false
}

/** This gateway's own shortage: no upstream is at fault. */
export function outOfDescriptors(cause?: unknown): GatewayError {
  return new GatewayError('unavailable', 'The gateway has no file descriptors left. Try again soon.', {
    retryAfter: 1000,
    limit: 'descriptors',
    phase: 'descriptors',
    cause,
  })
}
