import type { Exchange, Route } from '../core/plan.js'
import type { Call } from './call.js'
import type { Watched } from './watchdog.js'

/** Work that continues without its client. */
interface Unattended extends Watched {
  abandon(): void
}

/**
 * Whether an upstream's answer is read to its end although the client has gone, so that its usage is known, or the owner of what
 * it has made.
 */
export function drains({ error, route }: Call, { tariff }: Exchange): boolean {
  return error?.code === 'client_gone' && (tariff?.onClientAbort === 'drain' || hasOwner(route))
}

/** Whether the answer names what was made for the caller, which is recorded then: a resource, or the file of an upload that ends. */
export function hasOwner(route: Route | undefined): boolean {
  return route?.resource?.action === 'create' || route?.resource?.action === 'update'
}

/**
 * An upstream's answer that is read to its end after its call has settled. The call is recorded after it: its process and its
 * generation wait for it, and what it used is in every record. Its deadlines are checked until then.
 */
export class Drain {
  readonly #call: Call
  readonly #work: Unattended
  readonly #watched: number

  constructor(call: Call, work: Unattended) {
    this.#call = call
    this.#work = work
    this.#watched = call.kernel.watchdog.add(work)
    call.drains.add(work)
  }

  end(): void {
    this.#call.kernel.watchdog.delete(this.#watched)
    this.#call.drains.delete(this.#work)
  }
}
