import type { AnswerHeaders, UpstreamRequest } from '../transport/client/handler.js'

/** The gateway has no credential for an upstream at the moment. The message is for operators: it has no secret in it. */
export class CredentialFault extends Error {
  override readonly name = 'CredentialFault'
}

/** Puts a credential that changes into each request to an upstream. */
export interface RequestSigner {
  /** At once where the credential is at hand. Rejects, or throws, with {@link CredentialFault}. */
  sign(request: UpstreamRequest): UpstreamRequest | Promise<UpstreamRequest>
  /** Whether an answer with this head says that what `sign` put in is not valid, or not any more. */
  isRefusal(status: number, headers: AnswerHeaders): boolean
  /** An upstream refused what `sign` put into this request. Resolves with whether there is another credential now. */
  renew(refused: UpstreamRequest): Promise<boolean>
  /** Gets the credential ahead of the first request. Rejects with {@link CredentialFault}. */
  prepare(): Promise<void>
  /** Called when getting the credential begins to fail, and when it succeeds again (undefined). */
  onChange: (fault: CredentialFault | undefined) => void
  /** Why there is no valid credential, or no newer one. */
  readonly fault: CredentialFault | undefined
  /** Values of the moment that no client may see. */
  readonly hidden: readonly string[]
}
