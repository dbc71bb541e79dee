import { topic } from '../../core/peers.js'
import type { Upstream } from '../../core/plan.js'
import type { Kernel } from '../../kernel/kernel.js'

/** Faults that the simulator plays at an upstream. */
export interface Switched {
  /** As the header `x-simulate` takes them. */
  readonly faults: string
  /** They end by themselves, milliseconds since the epoch. */
  readonly until: number
}

const SWITCH = topic<readonly [string, Switched | null]>('console: faults')
const SWITCHED = topic<null, readonly (readonly [string, Switched])[]>('console: faults that are on')
const HEADER = 'x-simulate'

/** Whether the simulator inside answers for it. */
export function isSimulated({ origin, off }: Upstream): boolean {
  return off === undefined && origin === 'embedded:simulator'
}

/** Faults of the simulator that people switch on while the gateway runs. They are in no file, and end with the process at the latest. */
export class FaultSwitches {
  readonly #kernel: Kernel
  /** By the names of upstreams of the plan. */
  readonly #on = new Map<string, Switched>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    const { peers } = kernel
    peers.on(SWITCH, ([name, switched]) => this.#apply(name, switched))
    peers.on(SWITCHED, () => [...this.#on])
    // A worker that takes the place of another one does as the others do.
    void peers.ask(SWITCHED, null).then(
      answers => {
        for (const [name, switched] of answers.flatMap(({ answer }) => answer)) this.#on.set(name, switched)
      },
      () => undefined,
    )
  }

  /** In all workers. `null`: off. */
  set(name: string, switched: Switched | null): void {
    this.#apply(name, switched)
    this.#kernel.peers.tell(SWITCH, [name, switched])
    const { faults, until } = switched ?? {}
    const fields = { upstream: name, faults, until: until === undefined ? undefined : new Date(until).toISOString() }
    this.#kernel.onNotice(fields, switched === null ? 'simulated faults are off' : 'simulated faults are on')
  }

  /** By the names of upstreams. */
  get on(): ReadonlyMap<string, Switched> {
    const now = Date.now()
    for (const [name, { until }] of this.#on) if (until <= now) this.#on.delete(name)
    return this.#on
  }

  /** Adds them to a request's headers, after those that the file declares. */
  addTo(headers: string[], upstream: Upstream): void {
    if (this.#on.size === 0) return
    const faults = isSimulated(upstream) ? this.on.get(upstream.name)?.faults : undefined
    if (faults === undefined) return
    const at = headers.findIndex((name, index) => index % 2 === 0 && name === HEADER)
    if (at < 0) headers.push(HEADER, faults)
    else headers[at + 1] = `${headers[at + 1]} ${faults}`
  }

  #apply(name: string, switched: Switched | null): void {
    if (switched === null) this.#on.delete(name)
    else this.#on.set(name, switched)
  }
}
