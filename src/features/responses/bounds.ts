import type { Kernel } from '../../kernel/kernel.js'

const DAY_MS = 24 * 3_600_000

/** Bounds of conversations, and how long they are kept. */
export interface StateBounds {
  /** Most responses in a row. */
  readonly turns: number
  /** Most bytes of all items, as JSON. */
  readonly bytes: number
  /** Most items; `limits.conversation_items`. */
  readonly items: number
  /** How long a response is kept after it was last continued, milliseconds. */
  readonly keep: number
  /** Most different files that all items name. */
  readonly files: number
  /** Most references to earlier items in one request. */
  readonly references: number
  /** Most items of one response that later requests can refer to by id. */
  readonly indexed: number
}

export const STATE_BOUNDS: StateBounds = {
  turns: 256,
  bytes: 16 * 1024 * 1024,
  items: 10_000,
  keep: 30 * DAY_MS,
  files: 10_000,
  references: 2048,
  indexed: 64,
}

/** The bounds of a process; those of the plan change with reloads. */
export function stateBounds(kernel: Kernel): StateBounds {
  return {
    ...STATE_BOUNDS,
    get items() {
      return kernel.generation.plan.limits.conversation_items
    },
  }
}
