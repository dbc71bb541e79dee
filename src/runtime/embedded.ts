import { randomBytes } from 'node:crypto'
import type { Simulator } from '#simulator'
import type { Plan, Upstream } from '../core/plan.js'

/** `base` of upstreams that this process answers itself. */
const EMBEDDED = 'embedded:simulator'

/** The simulator inside this process: started on loopback when a plan first asks for it. */
export class Embedded {
  /** Objects of the simulator name its port, which others on this machine could ask without a key of the gateway's. */
  readonly #key = randomBytes(32).toString('base64url')
  #simulator: Simulator | undefined

  async prepare(plan: Plan): Promise<void> {
    const wanted = [...plan.upstreams.values()].some(one => one.off === undefined && one.origin === EMBEDDED)
    if (!wanted || this.#simulator !== undefined) return
    const { startSimulator } = await import('#simulator')
    this.#simulator = await startSimulator({ host: '127.0.0.1', port: 0, key: this.#key })
  }

  /** Where an upstream is reached. */
  readonly origin = (upstream: Upstream): string => {
    if (upstream.origin !== EMBEDDED) return upstream.origin
    if (this.#simulator === undefined) throw new Error('the simulator has not been started')
    return this.#simulator.origin
  }

  /** Headers that go with every request to an upstream, beside its own: flat name, value list. */
  readonly headers = (upstream: Upstream): readonly string[] =>
    upstream.origin === EMBEDDED ? ['x-simulator-key', this.#key] : []

  /** What the simulator received, for tests of those who embed the gateway. */
  get received(): Simulator['received'] {
    return this.#simulator?.received ?? []
  }

  async close(): Promise<void> {
    await this.#simulator?.close()
  }
}
