import type { OverloadConfig, Priority } from '../../core/priority.js'

/** What one look at the process finds. */
export interface Look {
  /** How late the event loop was, milliseconds. */
  readonly lateMs: number
  /** How much of its memory the process uses, a share from 0 to 1. */
  readonly memory: number
}

/** Shares of the new requests that are shed, from 0 to 1, by their keys' priority. */
export type Shed = Readonly<Record<Priority, number>>

export const NOTHING_SHED: Shed = Object.freeze({ low: 0, normal: 0, high: 0 })

/** Bounds of the loop's lateness, as multiples of the declared one: there shedding begins, at twice as much all is shed. */
const LATE_FROM: Shed = { low: 1, normal: 2, high: 4 }

/** Low priority is shed this much of the memory earlier than the others. */
const EARLIER = 0.03

/** How many of the last looks count: the mildest decides, so one long pause or garbage collection sheds nothing. */
const LOOKS = 3

/** Decides by the last looks at the process what of the new requests is shed. Pure: time and signs come from outside. */
export class Shedding {
  readonly #bounds: OverloadConfig
  #last: readonly Look[] = []
  shed: Shed = NOTHING_SHED
  /** Memory is so short that idle connections are not kept. */
  isTight = false

  constructor(bounds: OverloadConfig) {
    this.#bounds = bounds
  }

  look(look: Look): void {
    this.#last = [...this.#last.slice(1 - LOOKS), look]
    if (this.#last.length < LOOKS) return
    const lateness = Math.min(...this.#last.map(one => one.lateMs)) / this.#bounds.loop_delay
    const memory = Math.min(...this.#last.map(one => one.memory))
    this.isTight = memory >= this.#bounds.memory - EARLIER
    this.shed =
      lateness <= LATE_FROM.low && !this.isTight
        ? NOTHING_SHED
        : {
            low: this.share('low', lateness, memory),
            normal: this.share('normal', lateness, memory),
            high: this.share('high', lateness, memory),
          }
  }

  private share(priority: Priority, lateness: number, memory: number): number {
    if (memory >= this.memoryFor(priority)) return 1
    const from = LATE_FROM[priority]
    return Math.min(1, Math.max(0, lateness / from - 1))
  }

  /** High priority is served until half of what the bound leaves is used, too. */
  private memoryFor(priority: Priority): number {
    const { memory } = this.#bounds
    if (priority === 'low') return memory - EARLIER
    return priority === 'normal' ? memory : (memory + 1) / 2
  }
}
