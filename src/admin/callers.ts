import type { Caller } from '../core/caller.js'
import { CALLERS } from '../features/keys/callers.js'
import type { AdminHost } from './host.js'
import { AdminError } from './route.js'

/** Who a key of the file or the store stands for, by its name. Throws {@link AdminError} where it cannot be used. */
export async function callerNamed(name: string, host: AdminHost): Promise<Caller> {
  const holder = host.plan.keys.holderOf(name)
  if (holder !== undefined) {
    if (holder.disabled || (holder.expires ?? Number.POSITIVE_INFINITY) <= Date.now())
      throw new AdminError(409, 'conflict', 'this key is disabled or has expired')
    return holder.caller
  }
  const key = await host.kernel.need(CALLERS).stored.find(name)
  const caller = key && host.callerOf(key)
  if (caller === undefined) throw new AdminError(404, 'not_found', 'no key has this name')
  return caller
}
