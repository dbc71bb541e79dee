import { MADE_UP } from '../made-ids.js'

/**
 * Ids of the calls in a client's history. The protocol lets clients leave them out; then a result belongs to the first
 * call of that name that has none yet.
 */
export class CallIds {
  #made = 0
  /** Made-up ids of calls without a result, by the name of the function, and how many of them are taken. */
  readonly #waiting = new Map<string, { readonly ids: string[]; taken: number }>()
  readonly #given = new Set<string>()

  call(name: string, given: string | undefined): string {
    if (given !== undefined) {
      this.#given.add(given)
      return given
    }
    const id = this.next()
    const waiting = this.#waiting.get(name)
    if (waiting === undefined) this.#waiting.set(name, { ids: [id], taken: 0 })
    else waiting.ids.push(id)
    return id
  }

  /** The id of the call that a result answers; one that no call has where there is none. */
  result(name: string, given: string | undefined): string {
    if (given !== undefined && this.#given.has(given)) return given
    const waiting = this.#waiting.get(name)
    const id = waiting?.ids[waiting.taken]
    if (waiting === undefined || id === undefined) return given ?? this.next()
    waiting.taken++
    return id
  }

  private next(): string {
    return `${MADE_UP}${this.#made++}`
  }
}
