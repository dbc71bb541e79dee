import type { KeyConfig } from '../../core/config.js'
import { type IdentityConfig, mappingsOf, type Said, valuesOf } from '../../core/identity.js'
import { isObject, type Json } from '../../core/json.js'

/** What the audit asks of a holder: as of a key. */
export type Holder = Pick<KeyConfig, 'models' | 'disabled'> & Partial<Pick<KeyConfig, 'group' | 'routes'>>

/** Each kind of caller that a provider's claims can lead to, as if it were a key. Claims of keys lead to those. */
export function identityHolders(
  identity: IdentityConfig,
  groups: Iterable<string>,
): readonly (readonly [string, Holder])[] {
  const all = [...groups]
  return mappingsOf(identity).flatMap(({ name, caller }) => {
    const { models, group } = caller.terms
    if (caller.key !== undefined) return []
    const mayUse = models === undefined ? ['*'] : narrowest(models)
    const inGroups: readonly (string | undefined)[] = group === undefined ? [undefined] : namesIn(group, all)
    return inGroups.map(one => [
      `identity ${name}`,
      { models: mayUse, disabled: false, ...(one === undefined ? {} : { group: one }) },
    ])
  })
}

/** Names of the limits that identities may have. */
export function identityLimits(identity: IdentityConfig): readonly string[] {
  const said = mappingsOf(identity).flatMap(({ caller }) => caller.terms.limits ?? [])
  return [...new Set(said.flatMap(valuesOf).flatMap(value => (isObject(value) ? Object.keys(value) : [])))]
}

/** Models that every such caller has; none where a claim names them freely. */
function narrowest(said: Said): readonly string[] {
  const isFree = !('value' in said) && said.map === undefined
  const lists = valuesOf(said) as readonly (readonly Json[])[]
  return !isFree && lists.every(list => list.includes('*')) ? ['*'] : []
}

function namesIn(said: Said, all: readonly string[]): readonly string[] {
  const isFree = !('value' in said) && said.map === undefined
  return isFree ? all : valuesOf(said).map(String)
}
