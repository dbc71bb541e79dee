import type { StoredRecord } from '../../core/store.js'

/** An answer to a client that polls. */
interface PollAnswer {
  readonly json: Buffer
  readonly model: string
  readonly pace: number
}

interface CachedAnswer extends PollAnswer {
  readonly version: number
  readonly owner: string
  /** The answer's other inputs, beside the record. */
  readonly place: string
}

/** Most cached answers. */
const MAX_ANSWERS = 1000

/** Answers by record and version: most polls find nothing new. */
export class PollCache {
  readonly #answers = new Map<string, CachedAnswer>()

  get({ key, owner, version }: StoredRecord, place: string): PollAnswer | undefined {
    const known = this.#answers.get(key)
    return known?.version === version && known.owner === owner && known.place === place ? known : undefined
  }

  set({ key, owner, version }: StoredRecord, place: string, answered: PollAnswer): void {
    this.#answers.delete(key)
    this.#answers.set(key, { ...answered, version, owner, place })
    if (this.#answers.size <= MAX_ANSWERS) return
    for (const oldest of this.#answers.keys()) {
      this.#answers.delete(oldest)
      return
    }
  }
}
