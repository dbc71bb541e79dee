/** Attempts of one call; the first to answer wins. */
export interface Race<A> {
  /** Whether another attempt is under way beside this one. */
  readonly hasRival: boolean
  /** This one is the first to have content: the other is given up. */
  claim(attempt: A): void
}
