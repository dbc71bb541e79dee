import { REQUEST_METRICS } from './request-list.js'
import { type Counter, type Families, type Family, familiesOf, type Histogram, LabelBounds } from './series.js'
import { EVENT_METRICS, STATE_METRICS } from './state-list.js'

export type EventFamilies = Families<typeof EVENT_METRICS>
export type StateFamilies = Families<typeof STATE_METRICS>

/** What a process counts from its start on. */
export class CountedFamilies {
  readonly #bounds = new LabelBounds()
  readonly requests = familiesOf(REQUEST_METRICS, this.#bounds)
  readonly events: EventFamilies = familiesOf(EVENT_METRICS, this.#bounds)
}

/** For what a process shows of itself at one scrape. */
export function stateFamilies(): StateFamilies {
  return familiesOf(STATE_METRICS, new LabelBounds())
}

/** In the order of their lists. */
export function allOf(...lists: readonly object[]): readonly Family<Counter | Histogram>[] {
  return lists.flatMap(list => Object.values(list) as readonly Family<Counter | Histogram>[])
}
