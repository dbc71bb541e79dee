import type { JsonObject } from '../../core/json.js'
import { badUpstream, parseEvent } from '../read.js'

/** A block's index; -2 stands for one that is left out. */
export function indexOf({ index }: JsonObject): number {
  if (index === undefined || index === null) return -2
  if (typeof index !== 'number' || !Number.isSafeInteger(index) || index < 0) throw badUpstream('An index is no index.')
  return index
}

/** The document of an event; undefined for the end mark of another protocol, which some upstreams add. */
export function eventOf(data: string): JsonObject | undefined {
  return data === '[DONE]' ? undefined : parseEvent(data)
}
