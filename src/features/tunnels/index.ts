import { GatewayError } from '../../core/errors.js'
import { unknownModel } from '../../core/refusals.js'
import type { Feature } from '../../kernel/stages.js'
import { checkOrigin } from '../../kernel/upgrade.js'
import { HandshakeExchange } from '../../transport/handshake-exchange.js'
import { TunnelDispatch } from './dispatch.js'
import { checkHandshake } from './handshake.js'
import { openingMessage } from './opening-message.js'
import { TUNNELS, Tunnels } from './tunnels.js'

/** WebSockets that are passed through. The upstream's handshake is first, so that refusals can be plain HTTP answers. */
export const tunnels: Feature = {
  name: 'tunnels',
  open(kernel) {
    kernel.provide(TUNNELS, new Tunnels(kernel.sockets))
    return {}
  },
  compile({ plan, route }) {
    if (route?.tunnel === undefined) return undefined
    return {
      name: 'tunnels',
      onRequest: ({ request }) => checkOrigin(request, plan.listen.cors?.origins ?? []),
      admit({ kernel, request }) {
        checkHandshake(request, route.tunnel === 'framed')
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
        const release = call.kernel.need(TUNNELS).take(call.key, plan.limits.sessions)
        call.cancellation.add({ cancel: release })
        call.stream = true
        new TunnelDispatch(call, route, candidates, client).start()
      },
    }
  },
}
