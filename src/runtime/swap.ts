import type { Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import { Generation, type Places } from '../kernel/generation.js'
import type { Kernel } from '../kernel/kernel.js'
import type { Pools } from '../net/pools.js'
import type { Log } from '../sinks/log.js'
import type { Embedded } from './embedded.js'
import type { Running } from './load.js'
import { applyLimits, renewCertificate } from './server.js'

/** A plan that can go live at once, or be given up: one of the two is called, once. */
export interface Prepared {
  commit(): Promise<void> | void
  drop(): void
}

/** What plans go live in. */
export interface Target {
  /** Does all that may fail. Rejects where the plan cannot be served; nothing has changed then. */
  prepare(next: Running, number: number): Promise<Prepared>
}

interface Served {
  readonly kernel: Kernel
  readonly server: Server | HttpsServer
  readonly pools: Pools
  readonly embedded: Embedded
  readonly places: Places
  readonly log: Log
}

/** Puts plans into service in this process. */
export class Swap implements Target {
  readonly #served: Served

  constructor(served: Served) {
    this.#served = served
  }

  async prepare({ plan }: Running, number: number): Promise<Prepared> {
    const { kernel, server, pools, embedded, places, log } = this.#served
    await embedded.prepare(plan)
    const generation = new Generation(plan, number, pools, places)
    try {
      kernel.prepare(generation)
    } catch (error) {
      generation.retire()
      throw error
    }
    return {
      commit: () => {
        kernel.swap(generation)
        applyLimits(server, plan.limits)
        renewCertificate(server, plan.listen)
        log.configure(plan.log)
      },
      drop: () => generation.retire(),
    }
  }
}
