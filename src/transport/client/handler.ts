import type { GatewayError } from '../../core/errors.js'

/** A request to an upstream. */
export interface UpstreamRequest {
  readonly method: string
  /** Path and query. */
  readonly path: string
  /** Flat name, value list. */
  readonly headers: string[]
  readonly body: Uint8Array | NodeJS.ReadableStream | null
  /** The JSON document that the body was made of, if it is sent in another format. */
  readonly document?: Uint8Array
  /** The token, or the access, that its signer put into it: so a refusal tells which one is refused. */
  readonly signedWith?: unknown
  /** Looks on at the exchange. */
  readonly observer?: ExchangeObserver
}

/** Sees what an exchange brings, and changes nothing. The bytes are the handler's: it copies what it keeps. */
export interface ExchangeObserver {
  onHead(status: number, headers: AnswerHeaders): void
  onData(chunk: Buffer): void
  /** The answer is whole. One that breaks off has no end. */
  onEnd(): void
  /** The exchange broke off, or was given up. */
  onError(): void
  /** After a head with the status 101, in place of data and end: what is returned sees the WebSocket. */
  onSession(): SessionObserver
}

/** A side of a WebSocket that is passed through. */
export type SessionSide = 'client' | 'upstream'

/**
 * Sees the messages that pass to and from an upstream, and changes nothing. Pings do not count; messages that the gateway
 * itself sends to the upstream are the client's.
 */
export interface SessionObserver {
  /** More bytes of a message; they are valid until this returns. */
  onPiece(by: SessionSide, bytes: Buffer): void
  /** The message whose pieces came is whole. One that may not pass never is. */
  onMessage(by: SessionSide, isText: boolean): void
  /** The close frame that ends the session. `code` is 1005 if the frame has none (RFC 6455 §7.1.5). */
  onClose(by: SessionSide, code: number, reason: string): void
  /** Once, and last. `closed` is absent if nothing ended the session but the end of its call. */
  onEnd(closed: { readonly code: number; readonly by: string } | undefined, error: GatewayError | undefined): void
}

/** Headers of an answer by their names in lower case; several of one name are a list. */
export type AnswerHeaders = Record<string, string | string[] | undefined>

/** Governs one exchange. After its end all of it does nothing. */
export interface UpstreamController {
  readonly paused: boolean
  /** Nothing is handed over until `resume`, and the upstream waits. */
  pause(): void
  resume(): void
  /** Ends the exchange: the handler gets `reason` as its error within this call. */
  abort(reason: Error): void
}

/**
 * What one request hears: `onRequestStart` once it has a connection, `onResponseStart`, any number of `onResponseData`, and at
 * last one of `onResponseEnd` and `onResponseError`. An error may come at any time, even within the call that sends. What
 * they throw ends the exchange with that error.
 */
export interface ExchangeHandler {
  onRequestStart(controller: UpstreamController): void
  /** Not for informational answers (1xx). */
  onResponseStart(controller: UpstreamController, status: number, headers: AnswerHeaders): void
  /** The bytes are the handler's own: no one writes on them. */
  onResponseData(controller: UpstreamController, chunk: Buffer): void
  onResponseEnd(controller: UpstreamController): void
  onResponseError(controller: UpstreamController, cause: Error): void
}

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
