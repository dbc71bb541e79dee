/** Longest JSON, in bytes, that is searched once for all names; in longer ones each name is found sooner by itself. */
const SHORT = 4096

/** Members of JSON without which a stream is not whole, where its protocol has no event that ends it: one stands in some message. */
export class EndMembers {
  readonly #keys: readonly string[]
  readonly #set: RegExp

  /** `names` are plain identifiers. */
  constructor(names: readonly string[]) {
    this.#keys = names.map(name => `"${name}"`)
    this.#set = new RegExp(`(?:${this.#keys.join('|')})\\s*:\\s*(?!null)\\S`)
  }

  /**
   * Whether JSON has one of them, wherever in it, and no null there. Nothing is parsed: within a text the quotes around a
   * name would be escaped.
   */
  standIn(json: Buffer | string): boolean {
    if (typeof json === 'string') return this.#set.test(json)
    if (json.length > SHORT && !this.#keys.some(key => json.includes(key))) return false
    return this.#set.test(json.toString('latin1'))
  }
}

/** Undefined where something else ends such streams. */
export function endMembers(end: { readonly members?: readonly string[] } | undefined): EndMembers | undefined {
  const { members = [] } = end ?? {}
  return members.length === 0 ? undefined : new EndMembers(members)
}
