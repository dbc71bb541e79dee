import { GatewayError } from '../../core/errors.js'
import type { Plan } from '../../core/plan.js'
import type { OverloadConfig, Priority } from '../../core/priority.js'
import type { Call } from '../../kernel/call.js'
import { copied } from '../../kernel/inner.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Service, Stage } from '../../kernel/stages.js'
import { LOOK_EVERY_MS, ProcessLook } from './process-look.js'
import { NOTHING_SHED, type Shed, Shedding } from './shedding.js'

/** Keys of low priority leave this share of the places in flight (`limits.in_flight`) to the others. */
const LOW_PLACES = 0.8

/** Time between two lines in the log that say what is shed, milliseconds. */
const REPORT_EVERY_MS = 10_000

/** So late the event loop stood still, milliseconds: the log has the longest time of each report. */
const STALL_MS = 1000

/** Clients that were shed are asked to wait between these, milliseconds, so that they do not come back together. */
const RETRY_AFTER_MS = { least: 1000, most: 3000 }

/** What of the feature lives as long as the process. */
class OverloadService implements Service {
  readonly #kernel: Kernel
  #bounds: OverloadConfig | undefined
  #shedding: Shedding | undefined
  #timer: NodeJS.Timeout | undefined
  #reported = Number.NEGATIVE_INFINITY
  /** The longest stall since the last report, milliseconds. */
  #stalled = 0
  /** Requests that were shed since the last report. */
  #unreported = 0

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    this.adopt(kernel.generation.plan)
  }

  adopt({ overload }: Plan): void {
    if (JSON.stringify(overload) === JSON.stringify(this.#bounds)) return
    this.#bounds = overload
    clearInterval(this.#timer)
    this.#shedding = overload && new Shedding(overload)
    if (this.#shedding !== undefined) this.watch(this.#shedding, new ProcessLook())
  }

  private watch(shedding: Shedding, process: ProcessLook): void {
    this.#timer = setInterval(() => {
      const look = process.take()
      shedding.look(look)
      if (look.lateMs >= STALL_MS) this.#stalled = Math.max(this.#stalled, look.lateMs)
      this.report()
    }, LOOK_EVERY_MS).unref()
  }

  get #shed(): Shed {
    return this.#shedding?.shed ?? NOTHING_SHED
  }

  /** Memory is so short that idle connections of clients are not kept. */
  get isTight(): boolean {
    return this.#shedding?.isTight === true
  }

  /** Whether the request is shed. `drawn`: from 0 to 1, by chance. */
  sheds(priority: Priority, drawn: number): boolean {
    const shed = this.#shed
    if (shed === NOTHING_SHED || drawn >= shed[priority]) return false
    this.#unreported++
    return true
  }

  private report(): void {
    const now = performance.now()
    if ((this.#unreported === 0 && this.#stalled === 0) || now - this.#reported < REPORT_EVERY_MS) return
    this.#reported = now
    if (this.#stalled > 0) {
      this.#kernel.onNotice({ milliseconds: Math.round(this.#stalled) }, 'the event loop stood still')
    }
    if (this.#unreported > 0) {
      const fields = { requests: this.#unreported, shed: { ...this.#shed } }
      this.#kernel.onNotice(fields, 'overloaded: requests were refused')
    }
    this.#unreported = 0
    this.#stalled = 0
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
  }
}

/** The connection of a tunnel that opens becomes its own. */
const SWITCHING_PROTOCOLS = 101

function overloadStage(service: OverloadService): Stage {
  return {
    name: 'overload',
    admit(call) {
      const priority = copied(call.request) === undefined ? (call.caller?.priority ?? 'normal') : 'low'
      if (service.sheds(priority, Math.random())) throw overloaded('overload')
      if (priority === 'low' && !leavesPlaces(call)) throw overloaded('in_flight')
    },
    // Memory is short: the connections of clients are not kept.
    onAnswerHead(_call, status, headers) {
      if (service.isTight && status !== SWITCHING_PROTOCOLS) headers.push('connection', 'close')
    },
  }
}

function leavesPlaces({ kernel: { inFlight } }: Call): boolean {
  return inFlight.taken < inFlight.total * LOW_PLACES
}

function overloaded(limit: string): GatewayError {
  const { least, most } = RETRY_AFTER_MS
  return new GatewayError('unavailable', 'The gateway has too much to do. Try again soon.', {
    retryAfter: Math.round(least + Math.random() * (most - least)),
    limit,
  })
}

/**
 * Refuses new requests while the event loop is late or memory is short, those of keys with low priority first. What the
 * gateway answers by itself (lists of models, usage) is never refused, and neither is a request that has been let in.
 */
export const overload: Feature<OverloadService> = {
  name: 'overload',
  open: kernel => new OverloadService(kernel),
  compile: ({ plan, route }, service) =>
    plan.overload === undefined || route === undefined || route.lane === 'answer' ? undefined : overloadStage(service),
}
