import type { Caller } from '../core/caller.js'
import { CALLERS, type StoredHolder } from '../features/keys/callers.js'
import { admit } from '../plan/keys.js'
import type { AdminHost } from './host.js'
import { AdminError } from './route.js'

/** Who a key of the file or the store stands for, by its name. Throws {@link AdminError} where it cannot be used. */
export async function callerNamed(name: string, host: AdminHost): Promise<Caller> {
  const holder = host.plan.keys.holderOf(name) ?? (await storedHolder(name, host))
  if (holder === undefined) throw new AdminError(404, 'not_found', 'no key has this name')
  const caller = admit(holder, Date.now())
  if ('refused' in caller) throw new AdminError(409, 'conflict', 'this key is disabled or has expired')
  return caller
}

async function storedHolder(name: string, host: AdminHost): Promise<StoredHolder | undefined> {
  const key = await host.kernel.need(CALLERS).stored.find(name)
  return key && host.holderOf(key)
}
