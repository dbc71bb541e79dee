import { isObject, type Json, parseJson } from '../../core/json.js'
import type { ModelSource } from '../../core/plan.js'
import type { Generation } from '../../kernel/generation.js'
import { send } from '../../kernel/http-call.js'
import { type ServiceKey, serviceKey } from '../../kernel/services.js'

/** How long a list is cached, and for how long an upstream is not asked again after a failure. */
const LIST_TTL_MS = 5 * 60_000
const FAILED_LIST_TTL_MS = 30_000
const LIST_TIMEOUT_MS = 5_000
const MAX_LISTS = 256
const MAX_LIST_BYTES = 4 * 1024 * 1024
const MAX_NAMES = 10_000
const COLLECTION = 'models/'

/** The call on whose behalf an upstream is asked for its list. */
interface Asker {
  readonly generation: Generation
  /** Name of the caller's key. */
  readonly key: string
}

interface Kept {
  readonly names: readonly string[]
  readonly until: number
}

export const MODEL_LISTS: ServiceKey<ModelLists> = serviceKey('model_lists')

/** Lists of upstreams' models, fetched once for all callers and cached for a while. */
export class ModelLists {
  /** By upstream and call, the oldest first. */
  readonly #cache = new Map<string, Kept>()
  readonly #pending = new Map<string, Promise<readonly string[]>>()

  /** The clients' names of the sources' models. If an upstream does not answer, its last list is used, or none. */
  async names(asker: Asker, sources: readonly ModelSource[]): Promise<readonly string[]> {
    const found = await Promise.all(sources.map(async source => source.names(await this.#namesOf(asker, source))))
    return found.flat()
  }

  #namesOf(asker: Asker, source: ModelSource): readonly string[] | Promise<readonly string[]> {
    const { upstream } = source
    const place = JSON.stringify([upstream.name, upstream.origin, upstream.credential, source.call.text])
    const kept = this.#cache.get(place)
    if (kept !== undefined && kept.until > Date.now()) return kept.names
    const asked = this.#pending.get(place) ?? this.#fetch(asker, source, place, kept?.names ?? [])
    this.#pending.set(place, asked)
    return asked
  }

  async #fetch(
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
      const timeouts = {
        key,
        queue: LIST_TIMEOUT_MS,
        connect: LIST_TIMEOUT_MS,
        answer: LIST_TIMEOUT_MS,
        maxBytes: MAX_LIST_BYTES,
      }
      const { status, body } = await send(pool, request, timeouts)
      const reported = status === 200 ? namesIn(parseJson(body.toString('utf8'))) : undefined
      return this.#store(place, reported ?? before, reported === undefined ? FAILED_LIST_TTL_MS : LIST_TTL_MS)
    } catch {
      return this.#store(place, before, FAILED_LIST_TTL_MS)
    } finally {
      this.#pending.delete(place)
      generation.release()
    }
  }

  #store(place: string, reported: readonly string[], forMs: number): readonly string[] {
    this.#cache.delete(place)
    this.#cache.set(place, { names: reported, until: Date.now() + forMs })
    for (const oldest of this.#cache.keys()) {
      if (this.#cache.size <= MAX_LISTS) break
      this.#cache.delete(oldest)
    }
    return reported
  }
}

/** Reads `{data: [{id}]}`, `{models: [{name: "models/…"}]}`, or the list alone; undefined for other documents. */
function namesIn(document: Json | undefined): readonly string[] | undefined {
  const list = isObject(document) ? (document.data ?? document.models) : document
  if (!Array.isArray(list)) return undefined
  return list.slice(0, MAX_NAMES).flatMap((one: Json) => {
    const name = isObject(one) ? (one.id ?? one.name) : one
    if (typeof name !== 'string') return []
    return [name.startsWith(COLLECTION) ? name.slice(COLLECTION.length) : name]
  })
}
