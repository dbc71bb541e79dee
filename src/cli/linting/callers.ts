import { groupsOf } from '../../core/accounting-config.js'
import type { Config } from '../../core/config.js'
import { overlap } from '../../core/glob.js'
import { type IdentityTerm, valuesOf } from '../../core/identity.js'
import type { Json } from '../../core/json.js'

/** Whether a caller may use a model, by the lists of its key and of its groups. */
export function mayUse(lists: readonly (readonly string[])[], model: string): boolean {
  return lists.every(list => list.some(pattern => overlap(pattern, model)))
}

/** The lists of models of each key of the files that is not disabled: its own and those of its groups. */
export function listsOfKeys({ keys, groups }: Config): readonly (readonly (readonly string[])[])[] {
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
