import { type Family, GatewayError } from '../../../core/errors.js'
import type { Route } from '../../../core/plan.js'
import { checkHead } from '../../../kernel/heads.js'
import type { Kernel } from '../../../kernel/kernel.js'
import { checkOrigin, SOCKET_METHOD } from '../../../kernel/upgrade.js'
import type { HttpRequest } from '../../../transport/exchange.js'
import { authenticate } from '../../keys/authenticate.js'
import { CALLERS } from '../../keys/callers.js'

/** A refusal with the family of its path. */
interface Refusal {
  readonly error: GatewayError
  readonly family: Family
}

/** The caller and route of an accepted WebSocket. */
interface AdmittedSocket {
  readonly route: Route
  /** Name of the caller's key. */
  readonly key: string
}

/** Decides, before the handshake is answered, whether a request may open a WebSocket, and on which route. */
export async function admitSocket(kernel: Kernel, request: HttpRequest): Promise<AdmittedSocket | Refusal> {
  const { plan } = kernel.generation
  const { target } = request
  const mark = target.indexOf('?')
  const path = mark < 0 ? target : target.slice(0, mark)
  const query = mark < 0 ? undefined : new URLSearchParams(target.slice(mark + 1))
  const matched = plan.match(SOCKET_METHOD, path, request.headers)
  const family = matched.route?.errors ?? ('errors' in matched ? matched.errors : 'compatible')
  try {
    checkHead(request, plan.limits)
    checkOrigin(request, plan.listen.cors?.origins ?? [])
    const placements = matched.route?.caller ?? ('caller' in matched ? matched.caller : [])
    const { name: key } = await authenticate(request, query, placements, kernel.need(CALLERS), plan)
    if (kernel.draining) throw new GatewayError('unavailable', 'The gateway is shutting down.', { retryAfter: 1000 })
    if (matched.route === undefined) throw noSocket(path)
    return { route: matched.route, key }
  } catch (cause) {
    const error = cause instanceof GatewayError ? cause : new GatewayError('internal', 'The gateway failed.', { cause })
    return { error, family }
  }
}

function noSocket(path: string): GatewayError {
  return new GatewayError('not_found', `No WebSocket is served on ${path.slice(0, 200)}.`)
}
