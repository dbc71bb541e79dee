import type { HealthPart } from '../../core/health.js'
import type { Plan } from '../../core/plan.js'
import type { Kernel } from '../../kernel/kernel.js'
import type { Feature, Service } from '../../kernel/stages.js'
import { Circuits } from './circuits.js'
import { Probes } from './probes.js'
import { SecretTurns } from './secrets.js'
import { shareWithPeers } from './sharing.js'
import { shownHealth } from './shown.js'
import { healthStage } from './stage.js'
import { StoreSharing } from './store-sharing.js'

/** What the process has learned of its upstreams. */
class HealthService implements Service {
  /** Moments are the same in all processes of a machine, and continue evenly where its clock is set. */
  readonly now = (): number => performance.timeOrigin + performance.now()
  readonly circuits = new Circuits(this.now)
  readonly secrets = new SecretTurns(this.circuits)
  readonly #kernel: Kernel
  readonly #probes: Probes
  /** Absent where the store is this machine's alone. */
  readonly #stored: StoreSharing | undefined

  constructor(kernel: Kernel) {
    const { plan } = kernel.generation
    this.#kernel = kernel
    const tell = shareWithPeers(kernel.peers, this.circuits)
    this.#stored = isShared(plan.store.type) ? new StoreSharing(kernel.store, this.circuits) : undefined
    this.circuits.onChange = change => {
      kernel.onHealthChange(change)
      tell(change)
      this.#stored?.changed(change)
    }
    this.#probes = new Probes(kernel, this.circuits, this.now)
    this.adopt(plan)
  }

  adopt(plan: Plan): void {
    this.secrets.keep(plan.upstreams)
    this.#probes.adopt(plan)
    this.circuits.keep(part => this.#kernel.ready.some(one => isOf(one.plan, part)))
  }

  /** What rests of the plan that serves, by the names of upstreams. */
  shown(): ReturnType<typeof shownHealth> {
    const { plan } = this.#kernel.generation
    const standings = this.circuits.snapshot().filter(one => isOf(plan, one))
    return shownHealth(standings, this.now())
  }

  async close(): Promise<void> {
    this.#probes.close()
    await this.#stored?.close()
  }
}

/** Whether a plan asks that upstream, as it is defined there. */
function isOf({ upstreams }: Plan, { upstream, definition, credential }: HealthPart): boolean {
  const known = upstreams.get(upstream)
  if (known === undefined || known.off !== undefined || known.definition !== definition) return false
  if (credential === undefined) return true
  return [known, ...known.others].some(one => (one.credential ?? '') === credential)
}

/** Whether gateways of other machines may use the store. */
function isShared(type: string): boolean {
  return type !== 'memory' && type !== 'file'
}

/** Asks those upstreams last that fail, and gives several secrets of one their turns. */
export const health: Feature<HealthService> = {
  name: 'health',
  open: kernel => new HealthService(kernel),
  compile({ plan, route }, { circuits, secrets, now }) {
    const isAsking = route?.lane === 'exchange' || route?.task?.action === 'submit'
    const isNeeded = plan.learnsHealth || [...plan.upstreams.values()].some(({ others }) => others.length > 0)
    return isAsking && isNeeded ? healthStage(circuits, secrets, now) : undefined
  },
}
