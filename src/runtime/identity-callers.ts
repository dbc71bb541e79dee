import type { Caller } from '../core/caller.js'
import { mappingsOf } from '../core/identity.js'
import type { JsonObject } from '../core/json.js'
import type { Plan } from '../core/plan.js'
import { identityOf } from '../features/identity/mapping.js'
import { TokenFault } from '../features/identity/verify.js'
import { compileStoredKey } from './store-keys.js'

/** The caller that a token with these claims stands for, or why it is refused. Its issuer is `iss`, or the only one. */
export function callerByClaims(
  claims: JsonObject,
  plan: Plan,
): { readonly caller: Caller } | { readonly fault: string } {
  const all = plan.identity === undefined ? [] : mappingsOf(plan.identity)
  const isOnly = claims.iss === undefined && all.length === 1
  // Certificates have no `iss`; beside providers, the claims of one name it in `iss`.
  const provider = isOnly ? all[0] : all.find(one => ('issuer' in one ? one.issuer : one.name) === claims.iss)
  if (provider === undefined) return { fault: 'no provider of the file has their issuer (iss)' }
  try {
    const { name, key, terms } = identityOf(provider, claims)
    const caller =
      key === undefined ? compileStoredKey({ name, terms }, plan)?.caller : plan.keys.named(key, Date.now())
    if (caller === undefined) return { fault: 'what they say does not fit the file: an unknown key, group or limit' }
    return 'refused' in caller ? { fault: `the key ${key} is ${caller.refused}` } : { caller }
  } catch (cause) {
    if (cause instanceof TokenFault) return { fault: cause.message }
    throw cause
  }
}
