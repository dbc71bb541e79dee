const DAY_MS = 24 * 3_600_000

/** How long a conversation may grow, and how long it is kept. */
export interface StateBounds {
  /** Most responses that follow one another. */
  readonly turns: number
  /** Most bytes of all their items, as JSON. */
  readonly bytes: number
  /** Most items of them all; `limits.conversation_items`. */
  readonly items: number
  /** Milliseconds after which a response that nobody continued is forgotten. */
  readonly keep: number
  /** Most references to earlier items in one request. */
  readonly references: number
  /** Most items of one response that later requests can refer to by their ids alone. */
  readonly indexed: number
}

export const STATE_BOUNDS: StateBounds = {
  turns: 256,
  bytes: 16 * 1024 * 1024,
  items: 10_000,
  keep: 30 * DAY_MS,
  references: 2048,
  indexed: 64,
}
