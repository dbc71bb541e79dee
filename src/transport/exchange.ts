import type { IncomingHttpHeaders } from 'node:http'
import type { ClientCertificate } from './client-certificate.js'

/** Takes a request's body as it arrives. */
export interface BodyReceiver {
  data(chunk: Buffer): void
  /** The body is complete. */
  end(): void
  /** The client has disconnected, or broken the body off. */
  gone(): void
}

/** The head of a request. */
export interface HttpRequest {
  readonly method: string
  /** The request target as it was sent: path and query. */
  readonly target: string
  /** `1.1` or `1.0`. */
  readonly httpVersion: string
  /** By lower-case name; repeated ones as `node:http` joins them. */
  readonly headers: IncomingHttpHeaders
  /** A flat name, value list, as it was received. */
  readonly rawHeaders: readonly string[]
  /** Address of the other end of the connection when the request arrived; undefined if it had gone by then. */
  readonly remoteAddress: string | undefined
  /** Whether the client's connection is encrypted. */
  readonly isEncrypted: boolean
  /** What the client has shown in its TLS handshake. */
  readonly certificate: ClientCertificate | undefined
  /** Stands for the connection: the same object for all of its requests. */
  readonly connection: object
}

/** One request of a client and its answer, from any source: `node:http`, the gateway's own server, or this process itself. */
export interface HttpExchange extends HttpRequest {
  /** Whether all of the request has arrived. */
  readonly complete: boolean
  /** The body, if all of it is here already. {@link receive} gives it as well. */
  readonly whole: Buffer | undefined
  /** Gives the body to a receiver, from now on; at most once. May call it before it returns. */
  receive(receiver: BodyReceiver): void
  /** Stops the body until {@link resume}; chunks that have been read already may still come. */
  pause(): void
  resume(): void
  /** Lets a client begin that waits for 100 (Continue). */
  invite(): void

  /** Whether the head of the answer has been written. */
  readonly begun: boolean
  /** Whether all of the answer has been handed to the operating system. */
  readonly finished: boolean
  /** `headers`: a flat name, value list. The head leaves with the first bytes of the body, or with {@link flush}. */
  head(status: number, headers: string[]): void
  /** Sends the head now: the first bytes may be far away. */
  flush(): void
  /** Returns false if the client is slower; {@link onDrain} follows. */
  write(bytes: Uint8Array): boolean
  /** Completes the answer. */
  end(bytes?: Uint8Array | string, encoding?: 'latin1' | 'utf8'): void
  /** Breaks the exchange off. */
  destroy(): void
  /**
   * Gives up the rest of a request that is answered before its end, also on behalf of the receiver. It is read and dropped
   * within bounds, so that the answer reaches the client (RFC 9112 §9.6).
   */
  linger(): void

  /** Called when the client has taken what made {@link write} return false. */
  onDrain: (() => void) | undefined
  /** Called exactly once: when the answer has been sent, or when it cannot be any more. */
  onClose: (() => void) | undefined
}
