import type { Caller } from '../../core/caller.js'
import { CLIENT_SECRET_PREFIX, takesClientSecrets } from '../../core/client-secrets.js'
import type { Route } from '../../core/plan.js'
import { unauthenticated } from '../../core/refusals.js'
import type { Arrival } from '../../kernel/arrival.js'
import { DEFAULT_MODEL } from '../../kernel/read-request.js'
import type { Feature } from '../../kernel/stages.js'
import { IDENTITIES } from '../identity/service.js'
import { presentedKey, presentsKey } from '../keys/authenticate.js'
import { CALLERS } from '../keys/callers.js'
import { CLIENT_SECRET_ANSWERS } from './answer.js'
import { CLIENT_SECRET, CLIENT_SECRETS, ClientSecrets } from './client-secrets.js'

/** Client secrets: short-lived keys for sessions, made for a browser by the holder of a key. */
export const clientSecrets: Feature = {
  name: 'client_secrets',
  open(kernel) {
    kernel.provide(CLIENT_SECRETS, new ClientSecrets(kernel.store))
    return {}
  },
  compile({ route }) {
    const serve = route?.answer && CLIENT_SECRET_ANSWERS[route.answer]
    if (route !== undefined && serve !== undefined) return { name: 'client_secrets', serve: call => serve(call, route) }
    if (route?.tunnel === undefined || !takesClientSecrets(route.protocol?.name)) return undefined
    return { name: 'client_secrets', identify: call => holderOf(call, route) }
  },
}

/** Undefined if the client presents no secret, or a key that looks like one. */
async function holderOf(call: Arrival, { caller }: Route): Promise<Caller | undefined> {
  const { plan } = call.generation
  const callers = call.kernel.need(CALLERS)
  // Without a key, a certificate may say who asks.
  if (!presentsKey(call.request, call.query, caller)) return undefined
  const presented = presentedKey(call.request, call.query, caller)
  if (!presented.startsWith(CLIENT_SECRET_PREFIX) || callers.isKey(plan, presented, Date.now())) return undefined
  const opened = await call.kernel
    .need(CLIENT_SECRETS)
    .open(presented, callers, plan, () => call.kernel.need(IDENTITIES))
  if ('refused' in opened) throw unauthenticated(caller, opened.refused)
  call.set(CLIENT_SECRET, opened.secret)
  // A secret is for one model, so clients need not name it.
  call.set(DEFAULT_MODEL, opened.secret.model)
  return opened.caller
}
