import { groupsOf } from '../../core/accounting-config.js'
import type { Config } from '../../core/config.js'
import { Glob, isGlob, overlap } from '../../core/glob.js'
import { type IdentityTerm, valuesOf } from '../../core/identity.js'
import type { Json } from '../../core/json.js'

/** The lists of a key and of its groups: a model has to be on each. */
export type ModelLists = readonly (readonly string[])[]

interface Listed<Holder> {
  readonly holder: Holder
  readonly lists: ModelLists
  readonly globs: readonly (readonly Glob[])[]
}

/** Holders of lists by the models that they may use. Most lists have names alone: no model is compared with all of these. */
export class Holders<Holder extends { readonly lists: ModelLists }> {
  readonly #all: readonly Listed<Holder>[]
  readonly #named = new Map<string, Listed<Holder>[]>()
  readonly #others: Listed<Holder>[] = []

  constructor(holders: readonly Holder[]) {
    this.#all = holders.map(holder => {
      const { lists } = holder
      return { holder, lists, globs: lists.map(list => list.map(pattern => new Glob(pattern))) }
    })
    for (const one of this.#all) {
      const names = one.lists.find(list => !list.some(isGlob))
      if (names === undefined) this.#others.push(one)
      for (const name of new Set(names)) {
        const known = this.#named.get(name)
        if (known === undefined) this.#named.set(name, [one])
        else known.push(one)
      }
    }
  }

  /** Those that may use a model, or one of those that a glob stands for. */
  *of(model: string): Generator<Holder> {
    if (isGlob(model)) {
      for (const { holder, lists } of this.#all)
        if (lists.every(list => list.some(pattern => overlap(pattern, model)))) yield holder
      return
    }
    for (const near of [this.#named.get(model) ?? [], this.#others])
      for (const { holder, globs } of near)
        if (globs.every(list => list.some(glob => glob.matches(model)))) yield holder
  }

  has(model: string): boolean {
    return this.of(model).next().done !== true
  }
}

/** The lists of models of each key of the files that is not disabled: its own and those of its groups. */
export function listsOfKeys({ keys, groups }: Config): readonly ModelLists[] {
  return Object.values(keys)
    .filter(key => !key.disabled)
    .map(key => [
      key.models,
      ...groupsOf(key, groups).flatMap(([, { models }]) => (models === undefined ? [] : [models])),
    ])
}

/**
 * What the files say that holders of tokens may have of a term; undefined where claims have it as it is, so that no one
 * knows before the token comes.
 */
export function saidOfTokens({ identity }: Config, term: IdentityTerm): readonly Json[] | undefined {
  const values: Json[] = []
  for (const { caller } of Object.values(identity?.providers ?? {})) {
    const said = caller.terms[term]
    if (said === undefined) continue
    if (!('value' in said) && said.map === undefined) return undefined
    values.push(...valuesOf(said))
  }
  return values
}
