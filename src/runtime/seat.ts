import type { Peers } from '../core/peers.js'
import type { LogState } from '../sinks/log.js'
import type { SimulatorPlace } from './embedded.js'
import type { Health } from './health.js'
import type { Running } from './load.js'
import type { PlanSource } from './plan-source.js'
import type { Target } from './swap.js'

/** What a worker gets from its supervisor, where a process alone does it itself. */
export interface Seat {
  readonly peers: Peers
  /** The number of the plan that it starts with. */
  readonly generation: number
  readonly simulator: SimulatorPlace | undefined
  /** Of the supervisor: its level holds until the file has another one. */
  readonly log: LogState
  /** Plans come from the supervisor. */
  planSource(running: Running, parts: { readonly target: Target; readonly health: Health }): PlanSource
  /** Ends all workers. */
  drain(): void
  /** Replaces the workers, one after another. */
  restart(): void
}
