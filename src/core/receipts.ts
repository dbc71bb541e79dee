import type { MaskName } from './masks.js'
import type { Secret } from './secret.js'

/** Where receipts are written, and how long they are kept. */
export interface ReceiptsConfig {
  readonly to: { readonly type: 'folder' /** Absolute. */; readonly path: string } | { readonly type: 'store' }
  /** Milliseconds: whole days. */
  readonly keep: number
  /** What happens if receipts cannot be written and their buffer is full. */
  readonly when_full: 'drop' | 'refuse'
  /** Encrypts captured content. */
  readonly key?: Secret
}

/** What is kept of what a key sends and gets. */
export interface CaptureConfig {
  readonly mask: readonly Exclude<MaskName, 'keys'>[]
  readonly words: readonly string[]
  /** Milliseconds: whole days. */
  readonly keep: number
}

/** The last receipt of a chain that is known to be written. */
export interface ChainEnd {
  readonly chain: string
  readonly day: string
  readonly seq: number
  /** SHA-256 of its line, without the line break, in lower-case hex. */
  readonly digest: string
}

/** The head of each line: its place in its chain, and the digest of the line before. */
export interface ReceiptPlace {
  readonly chain: string
  /** Counts from 1 in its chain. */
  readonly seq: number
  /** SHA-256 of the line before; of the first line of all, 64 zeros. */
  readonly prev: string
  /** `open`: a file of a chain begins. `end`: the process has ended in order. */
  readonly kind: 'open' | 'end' | 'request' | 'task'
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Receipts that could not be written before this one. */
  readonly lost?: number
}

/** The first line of each file. */
export interface OpeningLine extends ReceiptPlace {
  readonly kind: 'open'
  /** The line before: of the same chain on another day, or the end of the chain of a process before. Absent: there was none. */
  readonly after?: ChainEnd
  /** Bytes of an unfinished line with which that chain ends: its process was killed. */
  readonly torn?: number
  /** The last day that was removed because its time was over. */
  readonly dropped?: string
}

/** Where captured content is kept. */
export interface ContentPlace {
  /** The day in UTC at whose end it is removed. */
  readonly until: string
  /** SHA-256 of what is kept, sealed. */
  readonly sha256: string
}

/** One attempt. */
interface AttemptReceipt {
  readonly number: number
  readonly upstream: string
  readonly model: string
  /** `ok`, `skipped`, or the phase in which it failed. */
  readonly phase: string
  readonly status?: number
  readonly error?: string
  /** Milliseconds from the request's arrival to its beginning, and to its end. */
  readonly from_ms: number
  readonly to_ms: number
  /** The protocol that the request was translated to; absent: it was passed on. */
  readonly translated?: string
  readonly task?: string
  readonly units?: Readonly<Record<string, number>>
  /** Millionths of a USD, and the prices that it was worked out by: millionths of a USD, of tokens for a million. */
  readonly cost?: number
  readonly price?: object
  readonly estimated?: true
}

/** A settled request. It holds no content. */
export interface RequestReceipt extends ReceiptPlace {
  readonly kind: 'request'
  readonly id: string
  readonly key?: string
  readonly group?: string
  /** Of a copy that a mirror got: the id of the client's request. */
  readonly mirror_of?: string
  readonly route?: string
  readonly model?: string
  readonly stream: boolean
  /** Of the body that the client sent. */
  readonly body?: { readonly bytes: number; readonly sha256?: string }
  /** Members of the body: numbers and flags as they are, of all others what they are. */
  readonly parameters?: Readonly<Record<string, number | boolean | string>>
  readonly generation: number
  /** Digest of the configuration. */
  readonly plan: string
  readonly attempts: readonly AttemptReceipt[]
  readonly dropped?: readonly string[]
  readonly usage?: object
  /** Of all attempts, millionths of a USD. */
  readonly cost?: number
  readonly status: number
  readonly outcome: string
  readonly error?: string
  readonly answer: { readonly bytes: number; readonly sha256?: string; readonly events?: number }
  readonly first_ms?: number
  readonly total_ms: number
  readonly content?: ContentPlace
}

/** The place of a line is added when it is written. */
export type ReceiptDraft<R extends ReceiptPlace> = Omit<R, 'chain' | 'seq' | 'prev' | 'lost'>
