import type { Config } from '../core/config.js'
import { isObject, type JsonObject, parseJson } from '../core/json.js'
import type { Plan } from '../core/plan.js'
import type { Store, StoredRecord } from '../core/store.js'
import { LedgerStore } from './ledger-store.js'
import { StartError } from './problems.js'
import { openStore } from './stores.js'
import { isEnded, TaskStore } from './task-store.js'

/** What goes, by names. */
export interface Going {
  readonly keys: readonly string[]
  readonly upstreams: readonly string[]
  readonly models: readonly string[]
}

/** What the store holds of it. */
export interface Holdings {
  /** Tasks that have not ended. */
  readonly tasks: number
  /** Files, batches and other resources, by kind. */
  readonly resources: Readonly<Record<string, number>>
  /** Stored responses: of the key, or kept by the upstream. */
  readonly responses: number
  /** The last request of the ledger, milliseconds since the epoch; absent: it has none. */
  readonly lastUsed?: number
  /** Whether it was too much to be read whole: then the numbers are the least. */
  readonly isPart: boolean
}

/** Most records and entries that are read. */
const MAX_RECORDS = 1_000_000
/** Records that are read at a time. */
const PAGE_RECORDS = 500
/** What says whose a record is comes first in it; bytes. */
const MAX_HEAD_BYTES = 512 * 1024
const NEWLINE = 10

/** Reads the store of a plan. Nothing is changed. Throws {@link StartError} where it cannot be opened, or is in a running process alone. */
export async function holdingsOf(plan: Plan, config: Config, going: Going): Promise<Holdings> {
  if (plan.store.type === 'memory')
    throw new StartError("the store is the gateway's memory (store: { type: memory }), so this command cannot see it")
  const store = await openStore(plan.store)
  try {
    return await new Survey(store, going).run(plan, Object.keys(config.resource_kinds))
  } finally {
    await store.close()
  }
}

class Survey {
  readonly #store: Store
  readonly #going: Going
  #left = MAX_RECORDS

  constructor(store: Store, going: Going) {
    this.#store = store
    this.#going = going
  }

  async run(plan: Plan, kinds: readonly string[]): Promise<Holdings> {
    const tasks = await this.#tasks(plan)
    const resources: Record<string, number> = {}
    for (const kind of kinds) {
      const count = await this.#records(`held-${kind}`, ({ upstream }, owner) => this.#isGoing({ owner, upstream }))
      if (count > 0) resources[kind] = count
    }
    const responses = await this.#records('responses', ({ kind, upstream, model }, owner) =>
      this.#isGoing({ owner, model, upstream: kind === 'kept' ? upstream : undefined }),
    )
    const lastUsed = await this.#lastUsed()
    const isPart = this.#left <= 0
    return { tasks, resources, responses, ...(lastUsed === undefined ? {} : { lastUsed }), isPart }
  }

  #isGoing({ owner, upstream, model }: HeldBy): boolean {
    const { keys, upstreams, models } = this.#going
    const isIn = (names: readonly string[], name: unknown): boolean => typeof name === 'string' && names.includes(name)
    return isIn(keys, owner) || isIn(upstreams, upstream) || isIn(models, model)
  }

  async #tasks(plan: Plan): Promise<number> {
    let count = 0
    for await (const task of TaskStore.of(this.#store, plan).list({})) {
      if (this.#left-- <= 0) break
      const { owner, model, target } = task
      if (!isEnded(task) && this.#isGoing({ owner, model, upstream: target?.upstream })) count++
    }
    return count
  }

  async #records(namespace: string, counts: (head: JsonObject, owner: string) => boolean): Promise<number> {
    let count = 0
    let after: StoredRecord | undefined
    while (this.#left > 0) {
      const records = await this.#store.scan(namespace, {
        limit: PAGE_RECORDS,
        ...(after === undefined ? {} : { after }),
      })
      for (const { value, owner } of records) if (counts(headOf(value), owner)) count++
      this.#left -= records.length
      after = records.at(-1)
      if (records.length < PAGE_RECORDS) break
    }
    return count
  }

  /** Days from the last one back, until one has a request. */
  async #lastUsed(): Promise<number | undefined> {
    const ledger = new LedgerStore(this.#store)
    for (const day of [...(await this.#store.accounts.days())].sort().reverse()) {
      let last: number | undefined
      for await (const { records } of ledger.pages({ firstDay: day, lastDay: day })) {
        for (const { at, key, upstream, model } of records)
          if (this.#isGoing({ owner: key, upstream, model })) last = Math.max(at, last ?? 0)
        this.#left -= records.length
      }
      if (last !== undefined || this.#left <= 0) return last
    }
    return undefined
  }
}

interface HeldBy {
  readonly owner: unknown
  readonly upstream?: unknown
  readonly model?: unknown
}

/** The first line of a record. */
function headOf(value: Uint8Array): JsonObject {
  const end = value.indexOf(NEWLINE)
  const line = value.subarray(0, Math.min(MAX_HEAD_BYTES, end < 0 ? value.length : end))
  const head = parseJson(Buffer.from(line).toString('utf8'))
  return isObject(head) ? head : {}
}
