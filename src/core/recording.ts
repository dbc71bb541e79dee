import { Glob } from './glob.js'
import type { Json } from './json.js'
import type { MaskName } from './masks.js'

/** Which exchanges are recorded, and where. */
export interface RecordConfig {
  /** A folder, absolute. */
  readonly into: string
  /** Globs of clients' names for models; absent: all. */
  readonly models?: readonly string[]
  readonly keys?: readonly string[]
  readonly routes?: readonly string[]
  readonly mask: readonly MaskName[]
  readonly words: readonly string[]
  /** Dotted paths of members that are masked whole. */
  readonly members: readonly string[]
}

/** Which requests of a route, by the name of its protocol, are recorded; undefined: none. */
export function recordFilter(
  { models, keys, routes }: RecordConfig,
  route: string,
): ((model: string, key: string) => boolean) | undefined {
  if (routes?.includes(route) === false) return undefined
  const globs = models?.map(model => new Glob(model))
  return (model, key) =>
    (globs === undefined || globs.some(glob => glob.matches(model))) && (keys === undefined || keys.includes(key))
}

/** What is recorded instead of what the file says; what it says of masks still holds. */
export type RecordOverride = Pick<RecordConfig, 'into' | 'models' | 'keys' | 'routes'>

/** Recordings that answer in place of an upstream. */
export interface RecordingsConfig {
  /** A folder or a file, absolute. */
  readonly from: string
  /** Members of the body that decide, as dotted paths, or its whole. */
  readonly match: 'strict' | readonly string[]
  readonly timing: 'none' | 'recorded'
}

/** What a file of ours has. Texts are UTF-8; JSON is written as such where nothing of it is lost. */
export interface RecordedExchange {
  readonly request: {
    /** `WS`: the handshake of a WebSocket. */
    readonly method: string
    readonly url: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: Json
  }
  readonly response: {
    readonly status: number
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: Json
    /** A body of bytes that are not UTF-8. */
    readonly base64?: string
    /** A stream, in place of a body: its pieces in order. */
    readonly chunks?: readonly RecordedChunk[]
    /** When its head came after the request, milliseconds. */
    readonly after_ms?: number
  }
  /** Of a WebSocket, in place of a body: both directions in the order in which they passed. */
  readonly frames?: readonly RecordedFrame[]
  readonly end?: RecordedEnd
}

export interface RecordedChunk {
  /** After the request, milliseconds. */
  readonly after_ms?: number
  readonly text: string
}

/** A message of a WebSocket, as JSON, text or bytes in base64; or a close frame. */
export interface RecordedFrame {
  readonly from: 'client' | 'upstream'
  /** After the request, milliseconds. */
  readonly after_ms?: number
  readonly json?: Json
  readonly text?: string
  readonly base64?: string
  /** JSON or text that came in a binary frame. */
  readonly binary?: true
  /** Code of a close frame. */
  readonly close?: number
  readonly reason?: string
}

/** How a session ended. */
export interface RecordedEnd {
  readonly by: string
  /** Close code; 1006: the connection broke off without a close frame. */
  readonly code: number
  /** Code of the error in the gateway's log. */
  readonly error?: string
  /** Why the frames after the last one are missing: the recording ended here, not the session. */
  readonly cut?: string
  readonly after_ms: number
}

/** Values of a query that are credentials: no recording has them. */
export function isSecretQuery(name: string): boolean {
  return /^(key|api[-_]?key|token|access_token|sig|signature)$/i.test(name)
}

/** Stands for a member that was masked whole. */
export const MASKED = '[masked]'
