import type { Exchange } from '../core/plan.js'
import type { Call } from './call.js'
import type { Ended } from './records.js'
import type { Watched } from './watchdog.js'

/** Work that continues without its client. */
interface Unattended extends Watched {
  /** Stop: the process does not wait any longer. */
  abandon(): void
}

/** Whether an upstream's answer is read to its end although the client has gone, so that its usage is known. */
export function drains({ error }: Call, { tariff }: Exchange): boolean {
  return tariff?.onClientAbort === 'drain' && error?.code === 'client_gone'
}

/**
 * Keeps alive what an upstream's answer needs that is read to its end after its call has settled: the generation with its
 * pools, a place in flight, so that the process waits for it and its record before it ends, and checks of its deadlines.
 */
export class Drain implements Ended {
  readonly #call: Call
  readonly #entered: number
  readonly #watched: number
  #isOver = false

  constructor(call: Call, work: Unattended) {
    this.#call = call
    call.generation.lease()
    this.#entered = call.kernel.enter({ cut: () => this.#cut(work) })
    this.#watched = call.kernel.watchdog.add(work)
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    const { kernel } = this.#call
    kernel.watchdog.delete(this.#watched)
    kernel.records.add(this)
  }

  #cut(work: Unattended): boolean {
    if (this.#isOver) return false
    work.abandon()
    return true
  }

  /** What it kept alive was recorded before it. */
  record(): void {
    const { kernel, generation } = this.#call
    generation.release()
    kernel.leave(this.#entered)
  }
}
