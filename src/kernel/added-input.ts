import { type InputSize, NO_INPUT, sumOf, withFetched } from '../wire/input-size.js'
import { type Slots, slot } from './slot.js'

/** What the gateway sends with a request beside what its client sent. */
interface Added {
  /** Computed on first use. */
  earlier: InputSize | (() => InputSize)
  /** How many media the gateway fetched from URLs to send them as bytes. */
  fetched: number
}

const ADDED = slot<Added>('added input')

/** A feature sends something before the client's input, such as the conversation so far; measured only if needed. */
export function addEarlierInput(call: Slots, measure: () => InputSize): void {
  call.set(ADDED, { earlier: measure, fetched: call.get(ADDED)?.fetched ?? 0 })
}

/** Sets how many media were fetched for the current target; one that the request names twice counts twice. */
export function setFetchedMedia(call: Slots, fetched: number): void {
  call.set(ADDED, { earlier: call.get(ADDED)?.earlier ?? NO_INPUT, fetched })
}

export function hasAddedInput(call: Slots): boolean {
  return call.get(ADDED) !== undefined
}

/** The client's input and what was added to it. */
export function withAddedInput(call: Slots, sent: InputSize): InputSize {
  const added = call.get(ADDED)
  if (added === undefined) return sent
  if (typeof added.earlier === 'function') added.earlier = added.earlier()
  return withFetched(sumOf(added.earlier, sent), added.fetched)
}
