import type { TextEvent } from '../core/text.js'
import { badUpstream } from './read.js'

type PartEvent = Extract<TextEvent, { readonly index: number }>

/** Most events that wait for their turn; a stream that interleaves more than this is not one that anyone sends. */
const MAX_WAITING_EVENTS = 100_000
/** Most characters of text that wait for their turn. */
const MAX_WAITING_CHARS = 16 * 1024 * 1024

/**
 * For protocols whose parts never interleave and that know one candidate: events of the part at hand pass at once, those
 * of parts that opened meanwhile wait until it has ended. Events of other candidates than the first go nowhere.
 */
export class InOrder {
  /** Index of the part at hand. */
  #at = 0
  /** What waits, by the index of its part. */
  readonly #waiting = new Map<number, PartEvent[]>()
  #events = 0
  #chars = 0

  push(event: TextEvent): readonly TextEvent[] {
    if ('candidate' in event && event.candidate !== 0) return []
    if (!('index' in event)) return [event]
    if (event.index < this.#at) return []
    if (event.index > this.#at) {
      this.#events += 1
      this.#chars += charsOf(event)
      if (this.#events > MAX_WAITING_EVENTS || this.#chars > MAX_WAITING_CHARS) {
        throw badUpstream('Too much waits for an earlier part to end.')
      }
      const mine = this.#waiting.get(event.index)
      if (mine === undefined) this.#waiting.set(event.index, [event])
      else mine.push(event)
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
      const mine = this.#waiting.get(this.#at)
      if (mine === undefined) return out
      this.#waiting.delete(this.#at)
      this.#events -= mine.length
      for (const event of mine) {
        this.#chars -= charsOf(event)
        out.push(event)
      }
      if (mine.at(-1)?.type !== 'part-end') return out
    }
  }
}

function charsOf(event: PartEvent): number {
  return event.type === 'part-delta' ? event.text.length : 0
}
