import type { TextEvent } from '../core/text.js'

type PartEvent = Extract<TextEvent, { readonly index: number }>

/** Most events that wait for their turn; a stream that interleaves more than this is not one that anyone sends. */
const MAX_WAITING_EVENTS = 100_000

/**
 * For protocols whose parts never interleave and that know one candidate: events of the part at hand pass at once, those
 * of parts that opened meanwhile wait until it has ended. Events of other candidates than the first go nowhere.
 */
export class InOrder {
  /** Index of the part at hand. */
  #at = 0
  #waiting: PartEvent[] = []

  push(event: TextEvent): readonly TextEvent[] {
    if ('candidate' in event && event.candidate !== 0) return []
    if (!('index' in event)) return [event]
    if (event.index < this.#at) return []
    if (event.index > this.#at) {
      if (this.#waiting.length >= MAX_WAITING_EVENTS)
        throw new RangeError('too many events are waiting for an earlier part')
      this.#waiting.push(event)
      return []
    }
    if (event.type !== 'part-end') return [event]
    return [event, ...this.next()]
  }

  /** The part at hand has ended: what waited for that, up to the next part that is still open. */
  private next(): readonly TextEvent[] {
    const out: TextEvent[] = []
    for (;;) {
      this.#at += 1
      const mine = this.#waiting.filter(({ index }) => index === this.#at)
      if (mine.length === 0) return out
      this.#waiting = this.#waiting.filter(({ index }) => index !== this.#at)
      for (const event of mine) out.push(event)
      if (mine.at(-1)?.type !== 'part-end') return out
    }
  }
}
