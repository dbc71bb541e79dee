import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/** Turns of the event loop in which what is not needed is let go. */
const TURNS = 50

/** Collects garbage until at most so many of these objects are left; how many are. */
export async function collected(objects: readonly WeakRef<object>[], most = 0): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const left = (): number => objects.filter(one => one.deref() !== undefined).length
  // What the last turns of the event loop still hold goes with them.
  for (let turn = 0; turn < TURNS && left() > most; turn++) {
    await new Promise(resolve => setImmediate(resolve))
    collect()
  }
  return left()
}
