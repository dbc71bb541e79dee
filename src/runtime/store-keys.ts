import { readKeyTerms } from '../config/key-terms.js'
import type { Plan } from '../core/plan.js'
import type { Store } from '../core/store.js'
import type { StoredHolder } from '../kernel/keys/callers.js'
import type { KeyTerms, StoredKey } from '../kernel/keys/record.js'
import { KeySecrets } from '../kernel/keys/secrets.js'
import { StoredKeys } from '../kernel/keys/stored-keys.js'
import { compileHolder } from '../plan/keys.js'
import { StartError } from './problems.js'
import { openStore } from './stores.js'

/** What a plan makes of a key of the store; undefined where its terms do not fit the file any more. */
export function compileStoredKey({ name, terms }: StoredKey, _plan: Plan): StoredHolder | undefined {
  const read = readKeyTerms(name, terms)
  return 'faults' in read ? undefined : compileHolder(name, read.config)
}

/** What is wrong with the terms of a key, by the rules of the file; empty where they fit. */
export function faultsOf(name: string, terms: KeyTerms, _plan: Plan): readonly string[] {
  const read = readKeyTerms(name, terms)
  return 'faults' in read ? read.faults : []
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
