import type { Caller } from '../../core/caller.js'
import { CLIENT_SECRET_PREFIX, takesClientSecrets } from '../../core/client-secrets.js'
import { GatewayError } from '../../core/errors.js'
import type { Route } from '../../core/plan.js'
import { unauthenticated, unknownModel } from '../../core/refusals.js'
import { HandshakeExchange } from '../../transport/handshake-exchange.js'
import { presentedKey } from '../authenticate.js'
import type { Call } from '../call.js'
import { CLIENT_SECRET } from '../client-secrets.js'
import type { Feature } from '../stages.js'
import { checkOrigin } from '../upgrade.js'
import { TunnelDispatch } from './dispatch.js'
import { checkHandshake } from './handshake.js'
import { openingMessage } from './opening-message.js'

/** Client secrets: short-lived keys for sessions, made for a browser by the holder of a key. */
export const clientSecrets: Feature = {
  name: 'client_secrets',
  compile({ route }) {
    if (route?.tunnel === undefined || !takesClientSecrets(route.protocol?.name)) return undefined
    return { name: 'client_secrets', identify: call => holderOf(call, route) }
  },
}

/** WebSockets that are passed through. The upstream's handshake is first, so that refusals can be plain HTTP answers. */
export const tunnels: Feature = {
  name: 'tunnels',
  compile({ plan, route }) {
    if (route?.tunnel === undefined) return undefined
    return {
      name: 'tunnels',
      onRequest: ({ request }) => checkOrigin(request, plan.listen.cors?.origins ?? []),
      admit({ kernel, request }) {
        checkHandshake(request)
        if (kernel.draining) {
          throw new GatewayError('unavailable', 'The gateway is shutting down.', { retryAfter: 1000 })
        }
      },
      narrow(call, candidates) {
        const able = candidates.filter(exchange => openingMessage(call, route, exchange) !== null)
        if (able.length === 0) throw unknownModel(call.model, route, 'the session names a model that does not exist')
        return able
      },
      serve(call, candidates) {
        const client = call.request
        if (!(client instanceof HandshakeExchange)) throw new Error('a tunnel begins with a handshake')
        const release = call.kernel.tunnels.take(call.key, plan.limits.sessions)
        call.cancellation.add({ cancel: release })
        call.stream = true
        new TunnelDispatch(call, route, candidates, client).start()
      },
    }
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
