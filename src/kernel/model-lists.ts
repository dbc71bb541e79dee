import { isObject, type Json, parseJson } from '../core/json.js'
import type { ModelSource } from '../core/plan.js'
import type { Generation } from './generation.js'
import { ask } from './tasks/ask.js'

/** How long a list is good, and how long an upstream that gave none is left alone, milliseconds. */
const KEEP_MS = 5 * 60_000
const KEEP_FAILED_MS = 30_000
const WAIT_MS = 5_000
const MAX_LISTS = 256
const MAX_BYTES = 4 * 1024 * 1024
const MAX_NAMES = 10_000
const COLLECTION = 'models/'

/** The request for which an upstream is asked. */
interface Asker {
  readonly generation: Generation
  /** Name of the caller's key. */
  readonly key: string
}

interface Kept {
  readonly told: readonly string[]
  readonly until: number
}

/** The models that upstreams say they have, asked for once for all callers and kept for a while. */
export class ModelLists {
  /** By upstream and call, the oldest first. */
  readonly #kept = new Map<string, Kept>()
  readonly #asked = new Map<string, Promise<readonly string[]>>()

  /** Clients' names for what the sources have. An upstream that does not answer adds what it said before, or nothing. */
  async names(asker: Asker, sources: readonly ModelSource[]): Promise<readonly string[]> {
    const found = await Promise.all(sources.map(async source => source.names(await this.#told(asker, source))))
    return found.flat()
  }

  #told(asker: Asker, source: ModelSource): readonly string[] | Promise<readonly string[]> {
    const { upstream } = source
    const place = JSON.stringify([upstream.name, upstream.origin, upstream.credential, source.call.text])
    const kept = this.#kept.get(place)
    if (kept !== undefined && kept.until > Date.now()) return kept.told
    const asked = this.#asked.get(place) ?? this.#ask(asker, source, place, kept?.told ?? [])
    this.#asked.set(place, asked)
    return asked
  }

  async #ask(
    { generation, key }: Asker,
    { upstream, call }: ModelSource,
    place: string,
    before: readonly string[],
  ): Promise<readonly string[]> {
    generation.lease()
    try {
      const { pool, headers } = generation.reach(upstream)
      const request = {
        method: 'GET',
        path: call.target({}),
        headers: [...headers, 'accept', 'application/json'],
        body: null,
      }
      const patience = { key, queue: WAIT_MS, connect: WAIT_MS, answer: WAIT_MS, most: MAX_BYTES }
      const { status, body } = await ask(pool, request, patience)
      const told = status === 200 ? namesIn(parseJson(body.toString('utf8'))) : undefined
      return this.#keep(place, told ?? before, told === undefined ? KEEP_FAILED_MS : KEEP_MS)
    } catch {
      return this.#keep(place, before, KEEP_FAILED_MS)
    } finally {
      this.#asked.delete(place)
      generation.release()
    }
  }

  #keep(place: string, told: readonly string[], forMs: number): readonly string[] {
    this.#kept.delete(place)
    this.#kept.set(place, { told, until: Date.now() + forMs })
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_LISTS) break
      this.#kept.delete(oldest)
    }
    return told
  }
}

/** `{data: [{id}]}`, `{models: [{name: "models/…"}]}`, or the list alone; undefined where it is none of these. */
function namesIn(document: Json | undefined): readonly string[] | undefined {
  const list = isObject(document) ? (document.data ?? document.models) : document
  if (!Array.isArray(list)) return undefined
  return list.slice(0, MAX_NAMES).flatMap((one: Json) => {
    const name = isObject(one) ? (one.id ?? one.name) : one
    if (typeof name !== 'string') return []
    return [name.startsWith(COLLECTION) ? name.slice(COLLECTION.length) : name]
  })
}
