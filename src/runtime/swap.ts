import type { Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import { generations } from '../features/generations/index.js'
import { type MeasuredPair, NOTHING } from '../features/generations/measured.js'
import { Generation, type Places } from '../kernel/generation.js'
import type { Kernel } from '../kernel/kernel.js'
import type { Pipeline } from '../kernel/pipeline.js'
import type { Pools } from '../net/pools.js'
import type { Log } from '../sinks/log.js'
import type { Embedded } from './embedded.js'
import type { Running } from './load.js'
import { applyLimits, renewCertificate } from './server.js'

/** A plan that can go live, or be given up: one of the two is called, once. Before that it may be tried. */
export interface Prepared {
  /** Gives it a share of each key's requests, in place of another one that has it. */
  try(share: number): Promise<void> | void
  commit(): Promise<void> | void
  drop(): void
}

/** What plans go live in. */
export interface Target {
  /** Does all that may fail. Rejects where the plan cannot be served; nothing has changed then. */
  prepare(next: Running, number: number): Promise<Prepared>
  /** What the one that is tried and the one that serves have come to since the trial began. */
  measured(): Promise<MeasuredPair>
}

interface Served {
  readonly kernel: Kernel
  readonly server: Server | HttpsServer
  readonly pools: Pools
  readonly embedded: Embedded
  readonly places: Places
  readonly log: Log
  readonly pipeline: Pipeline
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
      try: share => kernel.try(generation, share),
      commit: () => {
        kernel.swap(generation)
        applyLimits(server, plan.limits)
        renewCertificate(server, plan.listen)
        log.configure(plan.log)
      },
      drop: () => (kernel.trial?.generation === generation ? kernel.endTrial() : generation.retire()),
    }
  }

  async measured(): Promise<MeasuredPair> {
    return this.#served.pipeline.serviceOf(generations)?.measured ?? { fresh: NOTHING, stable: NOTHING }
  }
}
