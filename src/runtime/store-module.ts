import { pathToFileURL } from 'node:url'
import { type Store, StoreError } from '../core/store.js'
import type { ModuleSettings, StoreEvents } from '../core/store-config.js'

/** The `openStore` export of a user's module; its store must follow the contract of every driver. */
export type OpenStoreModule = (
  options: ModuleSettings['options'],
  events: StoreEvents,
  now: () => number,
) => Store | Promise<Store>

const METHODS = [
  ...['create', 'get', 'replace', 'delete', 'list', 'claim', 'nextDue', 'scan', 'sweep', 'close'],
  ...['accounts.commit', 'accounts.read', 'accounts.entries', 'accounts.days', 'accounts.dropDay'],
  ...['blobs.put', 'blobs.get', 'blobs.delete'],
]

/** Opens a store of the user's own. Throws {@link StoreError}: `refused` where the module is not one, or fails in its own words. */
export async function openModule(
  { module, options }: ModuleSettings,
  events: StoreEvents,
  now: () => number = Date.now,
): Promise<Store> {
  const open = await exported(module)
  const store = await opened(module, () => open(options, events, now))
  const missing = METHODS.filter(method => typeof reach(store, method) !== 'function')
  if (missing.length === 0) return store
  throw new StoreError('refused', `the store that ${module} opens has no ${missing.join(', ')}`)
}

/** What fails in there is the user's own, and no fault of the gateway. */
async function opened(module: string, open: () => Store | Promise<Store>): Promise<Store> {
  try {
    return await open()
  } catch (error) {
    if (error instanceof StoreError) throw error
    throw new StoreError('refused', `the store of ${module} cannot be opened (${messageOf(error)})`, error)
  }
}

async function exported(module: string): Promise<OpenStoreModule> {
  let loaded: unknown
  try {
    loaded = await import(pathToFileURL(module).href)
  } catch (error) {
    throw new StoreError('refused', `the module ${module} cannot be loaded (${messageOf(error)})`, error)
  }
  const open = reach(loaded, 'openStore')
  if (typeof open !== 'function') throw new StoreError('refused', `${module} exports no function openStore`)
  return open as OpenStoreModule
}

function reach(value: unknown, path: string): unknown {
  return path.split('.').reduce<unknown>((inner, name) => {
    const holds = (typeof inner === 'object' || typeof inner === 'function') && inner !== null
    return holds ? Reflect.get(inner, name) : undefined
  }, value)
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
