/** What an upstream says when it does not answer; each family of protocols has its own words and shape for it. */
interface ErrorDetails {
  /** The field at fault, as the client wrote it. */
  readonly param?: string
  /** The family's own code, where it differs from the usual one for the status. */
  readonly code?: string
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Seconds to wait, for families that say it in the body. */
  readonly wait?: number
}

/** A refusal, as a real provider would make it. */
export class SimulatorError extends Error {
  override readonly name = 'SimulatorError'
  readonly status: number
  readonly details: ErrorDetails

  constructor(status: number, message: string, details: ErrorDetails = {}) {
    super(message)
    this.status = status
    this.details = details
  }
}

/** What the protocols of one family have in common. */
export interface Family {
  /** The JSON body of an error. */
  readonly body: (error: SimulatorError, requestId: string) => object
  /** The error that a provider of this family sends with a status, in its usual words. */
  readonly usual: (status: number) => SimulatorError
  /** The headers of every answer: an id, and what else the family sends. */
  readonly headers: (requestId: string) => Readonly<Record<string, string>>
}
