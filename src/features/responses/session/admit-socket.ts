import { GatewayError } from '../../../core/errors.js'
import type { Route } from '../../../core/plan.js'
import { Handshake } from '../../../kernel/arrival.js'
import { checkHead } from '../../../kernel/heads.js'
import type { Kernel } from '../../../kernel/kernel.js'
import type { Pipeline } from '../../../kernel/pipeline.js'
import { checkOrigin } from '../../../kernel/upgrade.js'
import type { HttpRequest } from '../../../transport/exchange.js'

/** The caller and route of an accepted WebSocket. */
interface AdmittedSocket {
  readonly route: Route
  /** Name of the caller's key; empty where none is needed. */
  readonly key: string
}

/**
 * Decides, before the handshake is answered, whether a request may open a WebSocket, and on which route. Its caller is found by the
 * same stages as that of any request. Rejects with the refusal.
 */
export async function admitSocket(kernel: Kernel, pipeline: Pipeline, request: HttpRequest): Promise<AdmittedSocket> {
  const handshake = new Handshake(kernel, request)
  const { plan } = handshake.generation
  checkHead(request, plan.limits)
  checkOrigin(request, plan.listen.cors?.origins ?? [])
  const caller = await pipeline.identify(handshake)
  if (kernel.draining) throw new GatewayError('unavailable', 'The gateway is shutting down.', { retryAfter: 1000 })
  const { route, path } = handshake
  if (route === undefined) throw new GatewayError('not_found', `No WebSocket is served on ${path.slice(0, 200)}.`)
  return { route, key: caller?.name ?? '' }
}
