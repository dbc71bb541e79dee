import type { RecordConfig, RecordedEnd } from '../../core/recording.js'

export interface RecordedAbout {
  readonly config: RecordConfig
  readonly upstream: {
    /** `https://host:port`. */
    readonly origin: string
    /** No recording has them: those of the moment in which it is written. */
    readonly secrets: readonly string[]
  }
  /** What the client presented as its own credential: no recording has it, either. */
  readonly presented: readonly string[]
  /** The route's protocol, or its name where it has none. */
  readonly route: string
  /** The upstream's name for it. */
  readonly model: string
}

/** How an exchange with an upstream begins. */
export interface RecordedBegin {
  readonly about: RecordedAbout
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly request: {
    /** `WS`: the handshake of a WebSocket. */
    readonly method: string
    /** Path and query. */
    readonly path: string
    /** Flat name, value list. */
    readonly headers: readonly string[]
    readonly body: Uint8Array | null
  }
  readonly status: number
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  /** When the head came after the request, milliseconds. */
  readonly headAt: number
}

/** An exchange with an upstream, as it was. */
export interface WholeExchange extends RecordedBegin {
  readonly pieces: readonly Piece[]
}

/** A WebSocket to an upstream, as it was. */
export interface WholeSession extends RecordedBegin {
  readonly frames: readonly Frame[]
  readonly end: RecordedEnd
}

/** A piece of an answer, and when it came after the request, milliseconds. */
export interface Piece {
  readonly bytes: Buffer
  readonly at: number
}

/** A message or a close frame of a session, and when it came after the request, milliseconds. */
export type Frame = { readonly from: 'client' | 'upstream'; readonly at: number } & (
  | { readonly isText: boolean; readonly pieces: readonly Buffer[] }
  | { readonly code: number; readonly reason: string }
)
