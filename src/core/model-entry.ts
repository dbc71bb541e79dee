/** A model as lists of models have it. */
export interface ModelEntry {
  readonly id: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly owner: string
}
