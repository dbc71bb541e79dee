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
}

export interface RecordedChunk {
  /** After the request, milliseconds. */
  readonly after_ms?: number
  readonly text: string
}

/** Stands for a member that was masked whole. */
export const MASKED = '[masked]'
