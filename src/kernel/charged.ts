import type { Units } from '../core/cost.js'
import { slot } from './slot.js'

/** What an attempt used. */
export interface Used {
  readonly units: Units
  readonly tokens: number
  readonly cost: number
  readonly isEstimated: boolean
}

/** What the ledger has of an attempt, for the stages before this one in `afterAttempt`. Absent: the ledger has nothing of it. */
export const CHARGED = slot<Used>('charged')
