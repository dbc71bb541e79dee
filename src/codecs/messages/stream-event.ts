import type { JsonObject } from '../../core/json.js'
import { badUpstream, numberOf, parseEvent } from '../read.js'

/** A block's index; -2 stands for one that is left out. */
export function indexOf(event: JsonObject): number {
  if (event.index === undefined || event.index === null) return -2
  const index = numberOf(event.index)
  if (index === undefined || !Number.isSafeInteger(index) || index < 0) throw badUpstream('An index is not valid.')
  return index
}

/** The document of an event; undefined for the end mark of another protocol, which some upstreams add. */
export function eventOf(data: string): JsonObject | undefined {
  return data === '[DONE]' ? undefined : parseEvent(data)
}
