import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { CLIENT_SECRET_PREFIX, takesClientSecrets } from '../../core/client-secrets.js'
import { GatewayError } from '../../core/errors.js'
import type { Caller, Route } from '../../core/plan.js'
import { unauthenticated, unknownModel } from '../../core/refusals.js'
import { recordCall } from '../account.js'
import { admit } from '../admit.js'
import { authenticate, presentedKey } from '../authenticate.js'
import { Call } from '../call.js'
import { checkHead } from '../heads.js'
import type { Kernel } from '../kernel.js'
import { checkMembers, mayBeRuled } from '../members.js'
import { resolve } from '../resolve.js'
import { logArrival, logCandidates } from '../trail.js'
import { checkOrigin, SOCKET_METHOD } from '../upgrade.js'
import { TunnelDispatch } from './dispatch.js'
import { checkHandshake } from './handshake.js'
import { openingMessage } from './opening-message.js'
import { HandshakeResponse } from './response.js'

/** Whether the path that a WebSocket is asked for on is one that is passed through. */
export function isTunnel({ generation }: Kernel, { url = '', headers }: IncomingMessage): boolean {
  return generation.plan.match(SOCKET_METHOD, url.split('?', 1)[0] ?? '', headers).route?.tunnel !== undefined
}

/**
 * A WebSocket's way: all checks of a request, then the upstreams' handshakes in turn, and only when one has agreed the
 * client's own. Until then every refusal is an HTTP status.
 */
export function openTunnel(kernel: Kernel, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const response = new HandshakeResponse(request, socket)
  const call = new Call(kernel, request, response, recordCall)
  open(call, response, socket, head).catch((error: unknown) => call.fail(error))
}

async function open(call: Call, response: HandshakeResponse, socket: Duplex, head: Buffer): Promise<void> {
  const { kernel, request } = call
  const { plan } = call.generation
  const { route, ...matched } = plan.match(SOCKET_METHOD, call.path, request.headers)
  if (route === undefined) throw new GatewayError('not_found', 'No WebSocket is served here.')
  call.route = route
  if (kernel.sink.debugs) logArrival(call)
  call.family = route.errors
  call.params = 'params' in matched ? matched.params : call.params
  checkHead(request, plan.limits)
  checkOrigin(request, plan.listen.cors?.origins ?? [])
  call.caller = await callerOf(call, route)
  call.cancellation.throwIfCancelled()
  call.takePlace()
  checkHandshake(request)
  if (kernel.draining) throw new GatewayError('unavailable', 'The gateway is shutting down.', { retryAfter: 1000 })
  const body = await admit(call, route)
  call.cancellation.throwIfCancelled()
  const able = resolve(call, route)
  const ruled = mayBeRuled(call, route, body) ? await checkMembers(call, route, body, able) : able
  const exchanges = ruled.filter(exchange => openingMessage(call, route, exchange) !== null)
  if (exchanges.length === 0) throw unknownModel(call.model, route, 'the session names an unknown model')
  const release = kernel.tunnels.take(call.caller.name, plan.limits.sessions)
  response.once('close', release)
  call.stream = true
  if (kernel.sink.debugs) logCandidates(call, exchanges)
  new TunnelDispatch(call, route, exchanges, { socket, response, head }).start()
}

/** Who opens a session: the holder of a key, or of a secret that one had made for such sessions. */
async function callerOf(call: Call, route: Route): Promise<Caller> {
  const { keys } = call.generation.plan
  const presented = presentedKey(call.request, call.query, route.caller)
  const isSecret = takesClientSecrets(route.protocol?.name) && presented.startsWith(CLIENT_SECRET_PREFIX)
  if (!isSecret || !('refused' in keys.find(presented, Date.now()))) {
    return authenticate(call.request, call.query, route.caller, keys)
  }
  const opened = await call.kernel.state.clientSecrets.open(presented, keys)
  if ('refused' in opened) throw unauthenticated(route.caller, opened.refused)
  call.clientSecret = opened.secret
  return opened.caller
}
