import { BoundedMap } from './bounded-map.js'
import type { JsonObject } from './json.js'
import { Storage } from './storage.js'

/** A response that a later request may refer to. */
export interface Kept {
  /** The response object as it was answered. */
  readonly object: JsonObject
  /** All that it answered: the items of the responses before it, then its own. Every item has an id. */
  readonly input: readonly JsonObject[]
  readonly output: readonly JsonObject[]
}

/** An item of a response that is kept. */
interface KeptItem {
  readonly item: JsonObject
  /** The id of the reasoning that it came from, and may not be sent without. */
  readonly needs: string | undefined
}

/** The last stored responses: at most 1,000, and at most 64 MiB of their JSON. */
export class Memory {
  readonly storage = new Storage()
  readonly #kept = new BoundedMap<Kept>({ sizeOf: response => Buffer.byteLength(JSON.stringify(response)) })
  /** The last that were deleted. */
  readonly #gone = new BoundedMap<true>()
  #items: ReadonlyMap<string, KeptItem> | undefined

  keep(id: string, response: Kept): void {
    this.#gone.drop(id)
    this.#kept.put(id, response)
    this.#items = undefined
  }

  get(id: string): Kept | undefined {
    return this.#kept.get(id)
  }

  /** An item of any response that is kept. */
  item(id: string): KeptItem | undefined {
    this.#items ??= itemsOf(this.#kept.entries().map(([, response]) => response))
    return this.#items.get(id)
  }

  /** Drops a response for good: its id is not taken on trust any more. False where it was not kept. */
  forget(id: string): boolean {
    if (!this.#kept.drop(id)) return false
    this.#items = undefined
    this.#gone.put(id, true)
    return true
  }

  isForgotten(id: string): boolean {
    return this.#gone.get(id) === true
  }

  clear(): void {
    this.storage.clear()
    this.#kept.clear()
    this.#gone.clear()
    this.#items = undefined
  }
}

function itemsOf(responses: readonly Kept[]): ReadonlyMap<string, KeptItem> {
  const items = new Map<string, KeptItem>()
  for (const { input } of responses) for (const item of input) items.set(String(item.id), { item, needs: undefined })
  for (const { output } of responses) {
    for (const [at, item] of output.entries()) {
      const before = output[at - 1]
      items.set(String(item.id), { item, needs: before?.type === 'reasoning' ? String(before.id) : undefined })
    }
  }
  return items
}
