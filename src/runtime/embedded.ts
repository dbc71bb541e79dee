import { randomBytes } from 'node:crypto'
import type { Simulator } from '#simulator'
import type { AdminHost } from '../admin/host.js'
import type { Plan, Upstream } from '../core/plan.js'
import { RecordedUpstreams } from './recordings/server.js'

/** `base` of upstreams that this process answers itself. */
const EMBEDDED = 'embedded:simulator'

/** What the simulator says of its faults; it is loaded when that is first asked for. */
export const SIMULATOR_FAULTS: AdminHost['simulator'] = {
  async faults() {
    const { FAULTS } = await import('#simulator')
    return Object.entries(FAULTS).map(([name, { value, description, strikes }]) => ({
      ...{ name, value: value.written, description, strikes },
    }))
  },
  async problem(faults) {
    const { faultProblem } = await import('#simulator')
    return faultProblem(faults)
  },
}

/** A simulator on loopback that asks for no key, for tests of configurations. */
export async function openSimulator(): Promise<Pick<Simulator, 'origin' | 'close'>> {
  const { startSimulator } = await import('#simulator')
  return startSimulator({ host: '127.0.0.1', port: 0 })
}

/** Where a simulator listens, and the key that it asks for. */
export interface SimulatorPlace {
  readonly origin: string
  readonly key: string
}

/**
 * Upstreams inside this process: the simulator, started on loopback when a plan first asks for it (workers use the supervisor's),
 * and recordings that are played.
 */
export class Embedded {
  readonly #recorded = new RecordedUpstreams()
  #simulator: Simulator | undefined
  #place: SimulatorPlace | undefined
  #starting: Promise<void> | undefined

  /** Undefined until a plan has asked for it. */
  get place(): SimulatorPlace | undefined {
    return this.#place
  }

  /** It is elsewhere. */
  set place(place: SimulatorPlace | undefined) {
    this.#place = place
  }

  async prepare(plan: Plan): Promise<void> {
    await this.#recorded.prepare(plan)
    await this.#prepareSimulator(plan)
  }

  async #prepareSimulator(plan: Plan): Promise<void> {
    const wanted = [...plan.upstreams.values()].some(one => one.off === undefined && one.origin === EMBEDDED)
    if (!wanted || this.#place !== undefined) return
    // Several may ask before it listens.
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined
    })
    await this.#starting
  }

  async #start(): Promise<void> {
    const { startSimulator } = await import('#simulator')
    // Objects of the simulator name its port, which others on this machine could ask without a key of the gateway's.
    const key = randomBytes(32).toString('base64url')
    this.#simulator = await startSimulator({ host: '127.0.0.1', port: 0, key })
    this.#place = { origin: this.#simulator.origin, key }
  }

  /** Where an upstream is reached. */
  readonly origin = (upstream: Upstream): string => {
    if (upstream.recordings !== undefined) return this.#recorded.origin
    if (upstream.origin !== EMBEDDED) return upstream.origin
    if (this.#place === undefined) throw new Error('the simulator has not been started')
    return this.#place.origin
  }

  /** Headers that go with every request to an upstream, beside its own: flat name, value list. */
  readonly headers = (upstream: Upstream): readonly string[] => {
    if (upstream.recordings !== undefined) return this.#recorded.headers(upstream)
    return upstream.origin === EMBEDDED && this.#place !== undefined ? ['x-simulator-key', this.#place.key] : []
  }

  /** What the simulator received, for tests of those who embed the gateway. */
  get received(): Simulator['received'] {
    return this.#simulator?.received ?? []
  }

  async close(): Promise<void> {
    await this.#starting?.catch(() => undefined)
    await this.#simulator?.close()
    await this.#recorded.close()
  }
}
