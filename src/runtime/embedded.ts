import type { Plan, Upstream } from '../core/plan.js'
import type { Simulator } from '../simulator/index.js'

/** `base` of upstreams that this process answers itself. */
const EMBEDDED = 'embedded:simulator'

/** The simulator inside this process: started on loopback when a plan first asks for it. */
export class Embedded {
  #simulator: Simulator | undefined

  async prepare(plan: Plan): Promise<void> {
    const wanted = [...plan.upstreams.values()].some(one => one.off === undefined && one.origin === EMBEDDED)
    if (!wanted || this.#simulator !== undefined) return
    const { startSimulator } = await import('../simulator/index.js')
    this.#simulator = await startSimulator({ host: '127.0.0.1', port: 0 })
  }

  /** Where an upstream is reached. */
  readonly origin = (upstream: Upstream): string => {
    if (upstream.origin !== EMBEDDED) return upstream.origin
    if (this.#simulator === undefined) throw new Error('the simulator has not been started')
    return this.#simulator.origin
  }

  /** What the simulator received, for tests of those who embed the gateway. */
  get received(): Simulator['received'] {
    return this.#simulator?.received ?? []
  }

  async close(): Promise<void> {
    await this.#simulator?.close()
  }
}
