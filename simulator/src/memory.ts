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

const MAX_ENTRIES = 1000
const MAX_BYTES = 64 * 1024 * 1024

/** An item of a response that is kept. */
interface KeptItem {
  readonly item: JsonObject
  /** The id of the reasoning that it came from, and may not be sent without. */
  readonly needs: string | undefined
}

/** The last responses that were to be stored: at most 1,000, and at most 64 MiB of their JSON. */
export class Memory {
  readonly storage = new Storage()
  readonly #kept = new Map<string, { readonly response: Kept; readonly bytes: number }>()
  #bytes = 0
  /** The last that were to be forgotten. */
  readonly #gone = new Set<string>()
  #items: ReadonlyMap<string, KeptItem> | undefined

  keep(id: string, response: Kept): void {
    const bytes = Buffer.byteLength(JSON.stringify(response))
    if (bytes > MAX_BYTES) return
    this.drop(id)
    this.#gone.delete(id)
    this.#kept.set(id, { response, bytes })
    this.#items = undefined
    this.#bytes += bytes
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= MAX_ENTRIES && this.#bytes <= MAX_BYTES) break
      this.drop(oldest)
    }
  }

  get(id: string): Kept | undefined {
    return this.#kept.get(id)?.response
  }

  /** An item of any response that is kept. */
  item(id: string): KeptItem | undefined {
    this.#items ??= itemsOf([...this.#kept.values()].map(({ response }) => response))
    return this.#items.get(id)
  }

  /** Drops a response for good: its id is not taken on trust any more. False where it was not kept. */
  forget(id: string): boolean {
    if (!this.drop(id)) return false
    this.#gone.add(id)
    for (const oldest of this.#gone) {
      if (this.#gone.size <= MAX_ENTRIES) break
      this.#gone.delete(oldest)
    }
    return true
  }

  isForgotten(id: string): boolean {
    return this.#gone.has(id)
  }

  clear(): void {
    this.storage.clear()
    this.#kept.clear()
    this.#gone.clear()
    this.#bytes = 0
    this.#items = undefined
  }

  private drop(id: string): boolean {
    const held = this.#kept.get(id)
    if (held === undefined) return false
    this.#bytes -= held.bytes
    this.#items = undefined
    return this.#kept.delete(id)
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
