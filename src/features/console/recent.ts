import type { RequestEntry } from '../../core/entry.js'
import { isObject, type JsonObject } from '../../core/json.js'
import { requestLine } from '../../sinks/request-line.js'
import { matches, type TailFilter } from '../tail/filter.js'
import { type Detail, shownDetail } from './detail.js'
import type { Pairs } from './headers.js'
import type { Step } from './steps.js'

/** Requests that a process keeps for the console. */
const MAX_KEPT = 2000
/** Content that a process keeps of them, characters: of the oldest it is forgotten first. */
const MAX_CONTENT_CHARS = 8 * 1024 * 1024

interface Kept {
  readonly entry: RequestEntry
  readonly steps: readonly Step[]
  detail: Detail
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
  readonly detail: Detail<Pairs>
}

/** The latest requests. */
export class Recent {
  readonly #kept: Kept[] = []
  /** Those with content, oldest first. */
  readonly #withContent: Kept[] = []
  #contentChars = 0
  #next = 0

  add(kept: Kept): void {
    const left = this.#kept[this.#next]
    this.#kept[this.#next] = kept
    this.#next = (this.#next + 1) % MAX_KEPT
    if (kept.detail.content !== undefined) {
      this.#withContent.push(kept)
      this.#contentChars += sizeOf(kept)
    }
    while (this.#contentChars > MAX_CONTENT_CHARS || (left !== undefined && left === this.#withContent[0])) {
      const oldest = this.#withContent.shift()
      if (oldest === undefined) break
      this.#contentChars -= sizeOf(oldest)
      const { content: _, ...detail } = oldest.detail
      oldest.detail = detail
    }
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
    return kept && { line: lineOf(kept), steps: kept.steps, detail: shownDetail(kept.detail) }
  }
}

function sizeOf({ detail: { content } }: Kept): number {
  return (content?.request?.length ?? 0) + (content?.answer?.length ?? 0)
}

function lineOf({ entry, ended }: Kept): JsonObject {
  const line: unknown = JSON.parse(requestLine(entry, 'info', new Date(ended).toISOString()))
  return isObject(line) ? line : {}
}
