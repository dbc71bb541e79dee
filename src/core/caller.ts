import type { CallerPolicy } from './bounds.js'
import type { Exposed } from './exposed.js'
import type { Priority } from './priority.js'
import type { CaptureConfig } from './receipts.js'
import type { AllowedRegions } from './region.js'
import type { TraceContentConfig } from './telemetry.js'

export interface Caller {
  readonly name: string
  may(model: string): boolean
  /** Nothing of this caller's requests may be left out in translation. */
  readonly strict: boolean
  readonly models: readonly string[]
  /** Absent: all. {@link may} has looked at them. */
  readonly regions?: NonNullable<AllowedRegions>
  /** Absent: nothing of what it sends and gets is kept. */
  readonly capture?: CaptureConfig
  /** Absent: spans of its requests hold nothing of their content. */
  readonly trace?: TraceContentConfig
  /** Absent: `normal`. */
  readonly priority?: Priority
  /** What its answers say of who answered. Absent: as the file has it. */
  readonly expose?: readonly Exposed[]
  /** `pin`: its requests may name a generation that is kept. */
  readonly generations?: 'pin'
  /** Absent: the configuration has no limits. */
  readonly policy?: CallerPolicy
}

export interface Refusal {
  readonly refused: 'malformed' | 'unknown' | 'expired' | 'disabled'
  /** Of what is unknown: the SHA-256 of what was presented, in lower-case hex. */
  readonly digest?: string
}

export interface KeyRing {
  /** `now` in milliseconds since the epoch. A refusal's reason is for the log; clients see one answer for all. */
  find(presented: string, now: number): Caller | Refusal
  /** The same by the SHA-256 of a key, in lower-case hex, for what the holder of that key had made. */
  byDigest(digest: string, now: number): Caller | Refusal
  /** Whether a key of the file has the name. */
  has(name: string): boolean
  /** The caller of that name, as if its key had been presented; `undefined` where no key has the name. */
  named(name: string, now: number): Caller | Refusal | undefined
}
