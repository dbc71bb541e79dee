import type { RequestEntry } from '../../core/entry.js'
import { isObject, type JsonObject } from '../../core/json.js'
import { requestLine } from '../../sinks/request-line.js'
import { matches, type TailFilter } from '../tail/filter.js'
import type { Step } from './steps.js'

/** Requests that a process keeps for the console. */
const MAX_KEPT = 2000

interface Kept {
  readonly entry: RequestEntry
  readonly steps: readonly Step[]
  /** Milliseconds since the epoch. */
  readonly ended: number
}

/** Which requests to show. */
export interface RecentQuery extends TailFilter {
  readonly limit: number
  readonly upstream?: string
}

/** A request with its timeline. */
export interface Shown {
  /** As in the log. */
  readonly line: JsonObject
  readonly steps: readonly Step[]
}

/** The latest requests. */
export class Recent {
  readonly #kept: Kept[] = []
  #next = 0

  add(kept: Kept): void {
    this.#kept[this.#next] = kept
    this.#next = (this.#next + 1) % MAX_KEPT
  }

  /** Newest first. */
  list({ limit, upstream, ...filter }: RecentQuery): readonly JsonObject[] {
    const found: JsonObject[] = []
    for (let back = 1; back <= this.#kept.length && found.length < limit; back++) {
      const kept = this.#kept[(this.#next - back + this.#kept.length) % this.#kept.length]
      if (kept === undefined || !matches(filter, kept.entry)) continue
      if (upstream === undefined || kept.entry.attempts.some(one => one.upstream === upstream)) found.push(lineOf(kept))
    }
    return found
  }

  /** By the id of the request, or of its trace. */
  find(id: string): Shown | undefined {
    const kept = this.#kept.find(({ entry }) => entry.id === id || entry.trace === id)
    return kept && { line: lineOf(kept), steps: kept.steps }
  }
}

function lineOf({ entry, ended }: Kept): JsonObject {
  const line: unknown = JSON.parse(requestLine(entry, 'info', new Date(ended).toISOString()))
  return isObject(line) ? line : {}
}
