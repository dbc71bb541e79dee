import type { Usage } from '../core/plan.js'
import type { Slot } from './slot.js'

/** The usage of one of a call's attempts so far. */
export interface AttemptUsage {
  /** The attempt before it. */
  readonly before: AttemptUsage | undefined
  /** Counts from 1. */
  readonly number: number
  readonly usage: Usage | undefined
  /** What a feature knows of it. */
  get<T>(slot: Slot<T>): T | undefined
}
