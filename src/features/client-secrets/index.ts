import type { Caller } from '../../core/caller.js'
import { CLIENT_SECRET_PREFIX, takesClientSecrets } from '../../core/client-secrets.js'
import type { Route } from '../../core/plan.js'
import { unauthenticated } from '../../core/refusals.js'
import type { Call } from '../../kernel/call.js'
import type { Feature } from '../../kernel/stages.js'
import { presentedKey } from '../keys/authenticate.js'
import { CLIENT_SECRET } from './client-secrets.js'

/** Client secrets: short-lived keys for sessions, made for a browser by the holder of a key. */
export const clientSecrets: Feature = {
  name: 'client_secrets',
  compile({ route }) {
    if (route?.tunnel === undefined || !takesClientSecrets(route.protocol?.name)) return undefined
    return { name: 'client_secrets', identify: call => holderOf(call, route) }
  },
}

/** Undefined if the client presents no secret, or a key that looks like one. */
async function holderOf(call: Call, { caller }: Route): Promise<Caller | undefined> {
  const { plan } = call.generation
  const { callers, state } = call.kernel
  const presented = presentedKey(call.request, call.query, caller)
  if (!presented.startsWith(CLIENT_SECRET_PREFIX) || callers.isKey(plan, presented, Date.now())) return undefined
  const opened = await state.clientSecrets.open(presented, callers, plan)
  if ('refused' in opened) throw unauthenticated(caller, opened.refused)
  call.set(CLIENT_SECRET, opened.secret)
  return opened.caller
}
