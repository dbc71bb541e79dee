import { Glob, isGlob, overlap } from '../core/glob.js'

/** Names of models, and whether a key's pattern lets any of them through: many keys ask of many models. */
export class KnownModels {
  readonly names: readonly string[]
  readonly #exact: ReadonlySet<string>
  readonly #globs: readonly Glob[]
  /** Names that are not globs, in the order of their code units. */
  readonly #sorted: readonly string[]
  readonly #answers = new Map<string, boolean>()

  constructor(names: readonly string[]) {
    this.names = names
    this.#exact = new Set(names)
    this.#globs = names.filter(isGlob).map(name => new Glob(name))
    this.#sorted = names.filter(name => !isGlob(name)).sort()
  }

  has(pattern: string): boolean {
    const known = this.#answers.get(pattern)
    if (known !== undefined) return known
    const has = this.#exact.has(pattern) || this.#isMet(pattern) || this.#hasMatch(pattern)
    this.#answers.set(pattern, has)
    return has
  }

  #isMet(pattern: string): boolean {
    if (!isGlob(pattern)) return this.#globs.some(model => model.matches(pattern))
    return this.#globs.some(model => overlap(model.text, pattern))
  }

  /** Only names that start as the pattern does can fit it. */
  #hasMatch(pattern: string): boolean {
    const star = pattern.indexOf('*')
    if (star === -1) return false
    const head = pattern.slice(0, star)
    const glob = new Glob(pattern)
    for (let at = this.#firstFrom(head); at < this.#sorted.length; at++) {
      const name = this.#sorted[at] ?? ''
      if (!name.startsWith(head)) return false
      if (glob.matches(name)) return true
    }
    return false
  }

  /** Where the first name is that is not before `text`. */
  #firstFrom(text: string): number {
    let [low, high] = [0, this.#sorted.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#sorted[middle] ?? '') < text) low = middle + 1
      else high = middle
    }
    return low
  }
}
