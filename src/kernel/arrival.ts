import type { Match, Miss, Route } from '../core/plan.js'
import type { HttpRequest } from '../transport/exchange.js'
import type { Generation } from './generation.js'
import { pathOf, queryOf } from './heads.js'
import type { Kernel } from './kernel.js'
import { type Slot, Slots } from './slot.js'
import { SOCKET_METHOD } from './upgrade.js'

/** What is known of a request, or of a handshake, while its caller is looked for. */
export interface Arrival {
  readonly kernel: Kernel
  readonly generation: Generation
  readonly request: HttpRequest
  readonly path: string
  readonly query: URLSearchParams | undefined
  readonly match: Match | Miss
  readonly route: Route | undefined
  set<T>(slot: Slot<T>, value: T | undefined): void
}

/** The handshake of a WebSocket whose messages are requests of their own: no call, but its caller is found as that of one. */
export class Handshake extends Slots implements Arrival {
  readonly kernel: Kernel
  readonly generation: Generation
  readonly request: HttpRequest
  readonly path: string
  readonly query: URLSearchParams | undefined
  readonly match: Match | Miss
  readonly route: Route | undefined

  constructor(kernel: Kernel, request: HttpRequest) {
    super()
    this.kernel = kernel
    this.generation = kernel.generation
    this.request = request
    const { target, headers } = request
    this.path = pathOf(target)
    this.query = queryOf(target, this.path)
    this.match = this.generation.plan.match(SOCKET_METHOD, this.path, headers)
    this.route = this.match.route
  }
}
