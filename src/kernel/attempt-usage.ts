import type { Usage } from '../core/plan.js'

/** What one of the attempts of a call has used so far. */
export interface AttemptUsage {
  /** The one that began before it. */
  readonly before: AttemptUsage | undefined
  /** Counts up from 1. */
  readonly number: number
  readonly usage: Usage | undefined
}
