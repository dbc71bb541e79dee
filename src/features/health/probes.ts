import type { Plan, Upstream } from '../../core/plan.js'
import type { UpstreamProbe } from '../../core/upstream-call.js'
import { askCheapest } from '../../kernel/cheapest-call.js'
import type { Generation } from '../../kernel/generation.js'
import { NoResponseError } from '../../kernel/http-call.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Circuits } from './circuits.js'
import type { Fault } from './verdict.js'

/** Most probes under way in a process; of more upstreams some are asked in the next round. */
const MAX_UNDER_WAY = 16
/** Probes have no key. */
const KEY = 'probe'
const CREDENTIAL_STATUSES: ReadonlySet<number> = new Set([401, 402, 403])

interface Round {
  timer: NodeJS.Timeout
  probe: UpstreamProbe
}

/** Asks upstreams now and then whether they answer, also while no request does: one probe at a time for each. */
export class Probes {
  readonly #kernel: Kernel
  readonly #circuits: Circuits
  readonly #now: () => number
  /** By the names of upstreams. */
  readonly #rounds = new Map<string, Round>()
  #underWay = 0
  #closed = false

  constructor(kernel: Kernel, circuits: Circuits, now: () => number) {
    this.#kernel = kernel
    this.#circuits = circuits
    this.#now = now
  }

  /** One process of a gateway asks: the others hear of it. */
  adopt({ upstreams }: Plan): void {
    if (this.#kernel.peers.number > 1 || this.#closed) return
    for (const [name, { timer }] of this.#rounds) {
      if (upstreams.get(name)?.probe !== undefined) continue
      clearTimeout(timer)
      this.#rounds.delete(name)
    }
    for (const [name, { probe, off }] of upstreams) {
      const known = this.#rounds.get(name)
      if (known !== undefined && probe !== undefined) known.probe = probe
      else if (probe !== undefined && off === undefined)
        this.#rounds.set(name, { probe, timer: this.#later(name, probe) })
    }
  }

  close(): void {
    this.#closed = true
    for (const { timer } of this.#rounds.values()) clearTimeout(timer)
    this.#rounds.clear()
  }

  #later(name: string, { every }: UpstreamProbe): NodeJS.Timeout {
    const timer = setTimeout(() => void this.#ask(name), every * (0.75 + Math.random() / 2))
    timer.unref()
    return timer
  }

  async #ask(name: string): Promise<void> {
    const { generation } = this.#kernel
    const upstream = generation.plan.upstreams.get(name)
    if (upstream?.probe !== undefined && upstream.off === undefined && this.#underWay < MAX_UNDER_WAY) {
      this.#underWay++
      generation.lease()
      try {
        await this.#probe(generation, upstream, upstream.probe)
      } finally {
        this.#underWay--
        generation.release()
      }
    }
    const round = this.#rounds.get(name)
    if (round !== undefined && !this.#closed) round.timer = this.#later(name, round.probe)
  }

  async #probe(generation: Generation, upstream: Upstream, probe: UpstreamProbe): Promise<void> {
    const begun = this.#now()
    const fault = await faultOf(generation, upstream, probe)
    const asked = { upstream, model: '' }
    if (fault === 'none') return
    if (fault === undefined) this.#circuits.succeeded(asked, this.#now(), begun, probe.rule)
    else this.#circuits.failed(asked, fault, this.#now(), begun, probe.rule)
  }
}

/** What is wrong with the upstream; undefined: it answers. `none`: not known, since the gateway lacked a connection. */
async function faultOf(
  generation: Generation,
  upstream: Upstream,
  { timeout, ...cheapest }: UpstreamProbe,
): Promise<Fault | 'none' | undefined> {
  try {
    const { status } = await askCheapest(generation, upstream, cheapest, { key: KEY, timeoutMs: timeout })
    if (CREDENTIAL_STATUSES.has(status)) return fault('credential', `status ${status}`)
    return status >= 500 ? fault('upstream', `status ${status}`) : undefined
  } catch (error) {
    if (!(error instanceof NoResponseError)) throw error
    const { condition } = error
    return condition === 'queue' || condition === 'descriptors' ? 'none' : fault('upstream', String(condition))
  }
}

function fault(part: Fault['part'], reason: string): Fault {
  return { part, reason: `probe: ${reason}`, asked: undefined, isLimit: false }
}
