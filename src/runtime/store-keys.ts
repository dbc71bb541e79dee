import { readKeyTerms } from '../config/key-terms.js'
import type { Plan } from '../core/plan.js'
import type { Store } from '../core/store.js'
import type { StoredHolder } from '../kernel/keys/callers.js'
import type { KeyTerms, StoredKey } from '../kernel/keys/record.js'
import { KeySecrets } from '../kernel/keys/secrets.js'
import { StoredKeys } from '../kernel/keys/stored-keys.js'
import { CompiledPlan } from '../plan/compile.js'
import { compileHolder } from '../plan/keys.js'
import { Policies } from '../plan/policies.js'
import { StartError } from './problems.js'
import { openStore } from './stores.js'

/** What a plan makes of a key of the store; undefined where its terms do not fit the file any more. */
export function compileStoredKey({ name, terms }: StoredKey, plan: Plan): StoredHolder | undefined {
  const read = readTerms(name, terms, plan)
  return 'faults' in read ? undefined : compileHolder(name, read.config, policiesOf(plan))
}

/** What is wrong with the terms of a key, by the rules of the file; empty where they fit. */
export function faultsOf(name: string, terms: KeyTerms, plan: Plan): readonly string[] {
  const read = readTerms(name, terms, plan)
  return 'faults' in read ? read.faults : []
}

/** Words of terms that hold only where the plan counts. */
const COUNTED = ['limits', 'group', 'routes', 'networks'] as const

function readTerms(name: string, terms: KeyTerms, plan: Plan): ReturnType<typeof readKeyTerms> {
  const read = readKeyTerms(name, terms, policiesOf(plan).groups.keys())
  const word = COUNTED.find(one => terms[one] !== undefined)
  if ('faults' in read || word === undefined || plan.accounting?.ledger !== undefined) return read
  return { faults: [`${word}: nothing is counted, since the file has no limits; write ledger: {} into it`] }
}

function policiesOf(plan: Plan): Policies {
  return plan instanceof CompiledPlan ? plan.policies : new Policies()
}

/** The keys of a store, for a command. Throws {@link StartError} where the store is nowhere but in a running process. */
export async function openStoredKeys({ store: config }: Plan): Promise<{ keys: StoredKeys; store: Store }> {
  if (config.type === 'memory') {
    throw new StartError(
      "keys are in the gateway's memory (store: { type: memory }), so this command cannot see them; use the admin API",
    )
  }
  const store = await openStore(config)
  return { keys: new StoredKeys(store, new KeySecrets(store)), store }
}
