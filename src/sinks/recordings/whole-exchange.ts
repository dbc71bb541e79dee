import type { RecordConfig } from '../../core/recording.js'

export interface RecordedAbout {
  readonly config: RecordConfig
  /** Of the upstream: `https://host:port`. */
  readonly origin: string
  /** No recording has them. */
  readonly secrets: readonly string[]
  /** The route's protocol, or its name where it has none. */
  readonly route: string
  /** The upstream's name for it. */
  readonly model: string
}

/** An exchange with an upstream, as it was. */
export interface WholeExchange {
  readonly about: RecordedAbout
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly request: {
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
  readonly pieces: readonly Piece[]
}

/** A piece of an answer, and when it came after the request, milliseconds. */
export interface Piece {
  readonly bytes: Buffer
  readonly at: number
}
