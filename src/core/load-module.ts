import { pathToFileURL } from 'node:url'
import { atMost } from './at-most.js'
import { LruCache } from './lru.js'
import { guardStrays } from './stray-faults.js'
import { faultText, ModuleFault, type UserModule } from './user-module.js'

/** Longest time for a module to be loaded, milliseconds. */
const LOAD_MS = 10_000
/** Digits of the digest that tell a changed module from the one before. */
const VERSION_DIGITS = 16
/** A text that failed is loaded so often at most: Node keeps each copy, and its failure, until the process ends. */
const MAX_COPIES = 100
/** Texts whose copies are counted; twice as many at most. */
const COUNTED_TEXTS = 500

/** The copies that failed, by the module's address. */
const failedCopies = new LruCache<number>(COUNTED_TEXTS)

/** A function that a module exports. Throws {@link ModuleFault}. */
export async function loadExport<F extends (...given: never[]) => unknown>(
  { module, digest }: Pick<UserModule, 'module' | 'digest'>,
  name: string,
): Promise<F> {
  guardStrays(module)
  const address = `${pathToFileURL(module).href}?v=${digest.slice(0, VERSION_DIGITS)}`
  const failed = failedCopies.get(address) ?? 0
  const copy = failed === 0 ? address : `${address}-${failed}`
  const loaded: { readonly exports: object } | undefined = await atMost(
    LOAD_MS,
    import(copy).then((exports: object) => ({ exports })),
  ).catch((cause: unknown) => {
    if (failed + 1 < MAX_COPIES) failedCopies.set(address, failed + 1)
    throw new ModuleFault(`it cannot be loaded: ${faultText(cause, module)}`)
  })
  if (loaded === undefined) throw new ModuleFault(`it cannot be loaded: it took longer than ${LOAD_MS / 1000} s`)
  const found: unknown = Reflect.get(loaded.exports, name)
  if (typeof found !== 'function') throw new ModuleFault(`it exports no function ${name}`)
  return found as F
}
