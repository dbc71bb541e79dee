import type { Faults } from '../faults/table.js'

/** How far a task is. `empty` is done without a result. */
export interface Course {
  readonly phase: 'queued' | 'running' | 'done' | 'empty' | 'failed' | 'blocked'
  /** From 0 to 100. */
  readonly progress: number
}

const DEFAULT_DURATION_MS = 5000
const QUEUED_PERCENT = 10
const DONE_PERCENT = 100

/**
 * How far a task is after so many milliseconds, or after so many polls where those are what it goes by. A function of
 * nothing else, so that a test needs no clock.
 */
export function courseOf(asked: Faults, { elapsed, polls }: { elapsed: number; polls: number }): Course {
  const { takes = DEFAULT_DURATION_MS, polls: wanted, stall, ends = 'done' } = asked
  const [done, whole] = wanted === undefined ? [elapsed, takes] : [polls, wanted]
  const reached = done >= whole ? DONE_PERCENT : Math.max(0, Math.floor((DONE_PERCENT * done) / whole))
  const progress = stall === undefined ? reached : Math.min(reached, stall)
  if (progress < DONE_PERCENT)
    return progress <= QUEUED_PERCENT ? { phase: 'queued', progress: 0 } : { phase: 'running', progress }
  return stall === undefined ? { phase: ends, progress } : { phase: 'running', progress }
}

/** Milliseconds from a task's start to its end; a poll stands for a second. */
export function timeOf({ takes = DEFAULT_DURATION_MS, polls }: Faults): number {
  return polls === undefined ? takes : polls * 1000
}
