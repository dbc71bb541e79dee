/**
 * `ANSWER_INVALID`: the answer breaks HTTP in a way that the parser allows; its own findings have llhttp's names (`HPE_…`).
 * `REQUEST_INVALID`: nothing was sent, because the request's head would have been something else to the upstream.
 */
type FaultCode = 'ANSWER_INVALID' | 'REQUEST_INVALID' | 'CONNECT_TIMEOUT' | 'CONNECTION_CLOSED' | `HPE_${string}`

/** Why an exchange has no whole answer, where the system gave no error of its own. */
export class TransportFault extends Error {
  override readonly name = 'TransportFault'
  readonly code: FaultCode

  constructor(code: FaultCode, message: string) {
    super(message)
    this.code = code
  }
}
