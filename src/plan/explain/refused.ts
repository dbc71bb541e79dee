import type { ErrorCode } from '../../core/errors.js'

interface Details {
  /** Another status than the code's own. */
  readonly status?: number | undefined
  readonly allow?: readonly string[]
}

/** Where a request's way would end; the message is for the operator. */
export class Refused extends Error {
  override readonly name = 'Refused'
  readonly code: ErrorCode
  readonly status: number | undefined
  readonly allow: readonly string[] | undefined

  constructor(code: ErrorCode, reason: string, { status, allow }: Details = {}) {
    super(reason)
    this.code = code
    this.status = status
    this.allow = allow
  }
}
