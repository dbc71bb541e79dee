import type { Plan, Upstream } from '../../core/plan.js'
import type { UpstreamProbe } from '../../core/upstream-call.js'
import { askCheapest } from '../../kernel/cheapest-call.js'
import type { Generation } from '../../kernel/generation.js'
import { NoResponseError } from '../../kernel/http-call.js'
import type { Kernel } from '../../kernel/kernel.js'
import { phaseOf } from '../../kernel/upstream-errors.js'
import type { Circuits } from './circuits.js'
import type { Fault } from './verdict.js'

/** Most probes under way in a process; of more upstreams some are asked in the next round. */
const MAX_UNDER_WAY = 16
/** Probes have no key. */
const KEY = 'probe'
const CREDENTIAL_STATUSES: ReadonlySet<number> = new Set([401, 402, 403])

interface Round {
  timer: NodeJS.Timeout | undefined
  probe: UpstreamProbe
}

/** Asks upstreams now and then whether they answer, also while no request does: one probe at a time for each. */
export class Probes {
  readonly #kernel: Kernel
  readonly #circuits: Circuits
  readonly #now: () => number
  /** By the names of upstreams. */
  readonly #rounds = new Map<string, Round>()
  /** Names of the upstreams that are being asked. */
  readonly #underWay = new Set<string>()
  #closed = false

  constructor(kernel: Kernel, circuits: Circuits, now: () => number) {
    this.#kernel = kernel
    this.#circuits = circuits
    this.#now = now
  }

  /** One process of a gateway asks: the others hear of it. */
  adopt({ upstreams }: Plan): void {
    if (this.#kernel.peers.number > 1 || this.#closed) return
    for (const [name, { timer, probe }] of this.#rounds) {
      const present = upstreams.get(name)
      if (present?.off === undefined && present?.probe?.every === probe.every) continue
      clearTimeout(timer)
      this.#rounds.delete(name)
    }
    for (const [name, { probe, off }] of upstreams) {
      if (probe === undefined || off !== undefined) continue
      const known = this.#rounds.get(name)
      if (known !== undefined) known.probe = probe
      else this.#begin(name, { probe, timer: undefined })
    }
  }

  close(): void {
    this.#closed = true
    for (const { timer } of this.#rounds.values()) clearTimeout(timer)
    this.#rounds.clear()
  }

  #begin(name: string, round: Round): void {
    this.#rounds.set(name, round)
    const wait = round.probe.every * (0.75 + Math.random() / 2)
    round.timer = setTimeout(() => {
      void this.#ask(name).finally(() => {
        // A reload may have ended the round while it asked, and begun another one.
        if (this.#rounds.get(name) === round) this.#begin(name, round)
      })
    }, wait).unref()
  }

  async #ask(name: string): Promise<void> {
    const { generation } = this.#kernel
    const upstream = generation.plan.upstreams.get(name)
    if (upstream?.probe === undefined || upstream.off !== undefined) return
    if (this.#underWay.has(name) || this.#underWay.size >= MAX_UNDER_WAY) return
    this.#underWay.add(name)
    generation.lease()
    try {
      await this.#probe(generation, upstream, upstream.probe)
    } finally {
      this.#underWay.delete(name)
      generation.release()
    }
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
    const phase = phaseOf(error.condition, error.error)
    if (phase === 'queue' || phase === 'descriptors') return 'none'
    return phase === 'credential' ? { ...fault('credential', phase), isUnsent: true } : fault('upstream', phase)
  }
}

function fault(part: Fault['part'], reason: string): Fault {
  return { part, reason: `probe: ${reason}`, asked: undefined, isLimit: false }
}
