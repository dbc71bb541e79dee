import { type IntervalHistogram, monitorEventLoopDelay, performance } from 'node:perf_hooks'
import type { Kernel } from '../../kernel/kernel.js'
import type { StateFamilies } from './families.js'

/** How often the event loop's delay is looked at, milliseconds. */
const RESOLUTION_MS = 20
const NS_PER_SECOND = 1e9
const US_PER_SECOND = 1e6
/** As much of the digest as `/readyz` shows. */
const SHOWN_DIGEST_CHARS = 16

/** Looks at the process when it is asked, and at its event loop all the time. */
export class ProcessState {
  readonly #delay: IntervalHistogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  #busy = performance.eventLoopUtilization()

  constructor() {
    this.#delay.enable()
  }

  show(families: StateFamilies, kernel: Kernel): void {
    const { user, system } = process.cpuUsage()
    const { rss, heapUsed } = process.memoryUsage()
    families.inFlight.of().add(kernel.calls.size)
    families.generation.of().add(kernel.generation.number)
    families.configInfo.of(kernel.generation.plan.digest.slice(0, SHOWN_DIGEST_CHARS)).add(1)
    families.reloadShare.of().add(kernel.trial?.share ?? 0)
    families.rss.of().add(rss)
    families.heap.of().add(heapUsed)
    families.cpu.of('user').add(user / US_PER_SECOND)
    families.cpu.of('system').add(system / US_PER_SECOND)
    families.uptime.of().add(process.uptime())
    families.linesLost.of().add(kernel.sink.dropped ?? 0)
    this.#showLoop(families)
  }

  #showLoop({ loopDelay, loopDelayMax, loopUtilization }: StateFamilies): void {
    const before = this.#busy
    this.#busy = performance.eventLoopUtilization()
    // Each measurement contains the timer's own period.
    const late = (nanoseconds: number): number => Math.max(0, nanoseconds / NS_PER_SECOND - RESOLUTION_MS / 1000)
    loopDelay.of().add(late(this.#delay.percentile(99)))
    loopDelayMax.of().add(late(this.#delay.max))
    loopUtilization.of().add(performance.eventLoopUtilization(this.#busy, before).utilization)
    this.#delay.reset()
  }

  close(): void {
    this.#delay.disable()
  }
}
