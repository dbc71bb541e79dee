import { placeOf } from '../core/config-place.js'
import type { Store } from '../core/store.js'
import { type LoadedPlan, loadPlan, type Overrides, type Running } from './load.js'
import { SecretKeeper } from './managed-secrets.js'
import { ConfigError } from './problems.js'
import type { ReloadOptions } from './reload.js'
import { loadCounting, needsCounting } from './store-keys.js'
import { StoreState } from './store-state.js'
import { openStore } from './stores.js'

/** What a start needs to know; see `StartOptions`. */
type Given = Omit<ReloadOptions, 'env'> & Partial<Pick<ReloadOptions, 'env'>>

/** All of it; the overrides are an object of this start's own. */
export type Start<G extends Given> = G & Pick<ReloadOptions, 'env' | 'file'> & { readonly overrides: Overrides }

export function startOf<G extends Given>(given: G): Start<G> {
  const env = given.env ?? process.env
  // Where secrets are assumed to be there, none is fetched.
  const keeper = given.secrets === 'assume' ? {} : { keeper: new SecretKeeper(env) }
  return { ...keeper, loadsModules: true, ...given, env, file: placeOf(given.file), overrides: { ...given.overrides } }
}

/** A configuration that compiled, and its store. */
export interface Opened {
  readonly loaded: LoadedPlan
  readonly running: Running
  readonly store: Store
  readonly state: StoreState
}

/** Loads and compiles the files, and opens the store. Throws {@link ConfigError}, or `StartError` for the store. */
export async function openFiles(options: ReloadOptions): Promise<Opened> {
  const first = await loadPlan(options)
  const state = new StoreState()
  const store = await openStore(runningOf(first).plan.store, state)
  try {
    const loaded = (await needsCounting(runningOf(first).plan, store)) ? await loadCounting(options) : first
    return { loaded, running: runningOf(loaded), store, state }
  } catch (error) {
    await store.close()
    throw error
  }
}

/** Throws {@link ConfigError} where there is no plan. */
function runningOf({ plan, config, problems }: LoadedPlan): Running {
  if (plan === undefined || config === undefined) throw new ConfigError(problems)
  return { plan, config }
}
