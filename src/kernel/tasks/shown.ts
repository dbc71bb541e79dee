import type { StoredRecord } from '../../core/store.js'

/** An answer to a client that polls. */
export interface Answered {
  readonly json: Buffer
  readonly model: string
  readonly pace: number
}

interface Kept extends Answered {
  readonly version: number
  readonly owner: string
  /** What the answer depends on beside the record. */
  readonly place: string
}

/** Answers that are kept ready. */
const MOST = 1000

/** Answers by the record that they were made of, and its version: most polls find nothing new. */
export class Shown {
  readonly #answers = new Map<string, Kept>()

  get({ key, owner, version }: StoredRecord, place: string): Answered | undefined {
    const known = this.#answers.get(key)
    return known?.version === version && known.owner === owner && known.place === place ? known : undefined
  }

  set({ key, owner, version }: StoredRecord, place: string, answered: Answered): void {
    this.#answers.delete(key)
    this.#answers.set(key, { ...answered, version, owner, place })
    if (this.#answers.size <= MOST) return
    for (const oldest of this.#answers.keys()) {
      this.#answers.delete(oldest)
      return
    }
  }
}
