import { randomBytes } from 'node:crypto'

/** Begins the ids of calls that the upstream gave none. Where a protocol can do without ids, these are left out. */
export const MADE_UP = 'gwcall_'

/** Ids for the calls of one answer whose upstream gives none: the same each time that the answer has an id. */
export class MadeIds {
  #answer: string

  /** `answer` is the upstream's id of the answer, which may be empty. */
  constructor(answer: string) {
    this.#answer = answer
      .slice(-64)
      .replace(/[^A-Za-z0-9]/g, '')
      .slice(-24)
  }

  of(candidate: number, call: number): string {
    if (this.#answer === '') this.#answer = randomBytes(9).toString('hex')
    return `${MADE_UP}${this.#answer}_${candidate}_${call}`
  }
}
