import type { Store } from '../../core/store.js'
import { WorkerTotals } from '../../features/metrics/totals.js'
import type { Log } from '../../sinks/log.js'
import { descriptorLimit, warnOfDescriptors } from '../descriptors.js'
import { Embedded } from '../embedded.js'
import type { StartOptions } from '../gateway.js'
import { commonOf, type Health, healthOf, logDisabled } from '../health.js'
import type { LoadedPlan } from '../load.js'
import type { Opened, Start } from '../opening.js'
import { followLevel, startLog } from '../own-log.js'
import { messageOf, StartError } from '../problems.js'
import { Reloads } from '../reload.js'
import { Crew, type Member } from './crew.js'
import { Leases } from './leases.js'
import {
  COUNTED,
  DRAIN,
  HEALTH,
  HELD,
  HISTORY,
  PAST_DOCUMENT,
  RELOAD,
  REREAD,
  RESTART,
  ROLLBACK,
  START,
  STEP_TIMEOUT_MS,
  type Started,
} from './messages.js'
import { Hub } from './peers.js'
import { Rollout } from './rollout.js'

/** Beyond what requests and tasks get to end, milliseconds. */
const END_MARGIN_MS = 15_000
/** How long workers get to end at once, milliseconds. */
const URGENT_END_MS = 600

/**
 * The first process of a gateway with workers. It holds no request: it starts workers and replaces those that die, watches the
 * files, and leads reloads, so that all workers serve the same plan. It has the totals of their metrics.
 */
export class Supervisor {
  readonly #options: Start<StartOptions>
  readonly #log: Log
  readonly #store: Store
  readonly #health: Health
  readonly #embedded = new Embedded()
  readonly #hub = new Hub()
  readonly #leases: Leases
  readonly #rollout: Rollout
  readonly #reloads: Reloads
  readonly #crew: Crew
  #started: Started = {}
  #closing: Promise<void> | undefined
  #failure: StartError | undefined
  #ended: () => void = () => undefined
  #failed: (error: StartError) => void = () => undefined
  /** Settles when the gateway has ended; rejects with {@link StartError} where its workers cannot be started any more. */
  readonly closed: Promise<void>

  /** Throws {@link StartError} where the workers cannot start. */
  static async start(options: Start<StartOptions>, opened: Opened): Promise<Supervisor> {
    const supervisor = new Supervisor(options, opened)
    try {
      await supervisor.#start()
    } catch (error) {
      await supervisor.closeNow()
      throw error
    }
    await supervisor.#reloads.follow(opened.loaded)
    return supervisor
  }

  private constructor(options: Start<StartOptions>, { loaded, running, store, state }: Opened) {
    const { plan } = running
    this.#options = options
    this.#store = store
    this.#log = startLog(plan.log, options.log, 0)
    followLevel(this.#log, this.#hub)
    state.attach(this.#log)
    this.#health = healthOf(plan, state)
    this.#leases = new Leases(store.accounts, this.#hub, this.#log)
    new WorkerTotals(this.#hub)
    this.#rollout = new Rollout(running, {
      members: () => this.#crew.serving,
      simulatorFor: async ({ plan }) => {
        await this.#embedded.prepare(plan)
        return this.#embedded.place
      },
      onStuck: (member, error) => {
        this.#log.error({ worker: member.number, error: messageOf(error) }, 'a worker did not take over the new plan')
        this.#crew.replace(member)
      },
    })
    const descriptors = descriptorLimit()
    this.#reloads = new Reloads(options, loaded, running, {
      target: this.#rollout,
      health: this.#health,
      log: this.#log,
      onHealth: () => this.#tellHealth(),
      descriptors,
    })
    this.#crew = new Crew({
      count: plan.workers,
      hub: this.#hub,
      log: this.#log,
      greet: member => this.#greet(member),
      onLost: member => this.#leases.lost(member.number),
      onHopeless: error => this.#giveUp(error),
    })
    this.closed = new Promise((ended, failed) => {
      this.#ended = ended
      this.#failed = failed
    })
    this.closed.catch(() => undefined)
    logDisabled(plan, this.#log)
    warnOfDescriptors(plan, descriptors, this.#log)
  }

  get loaded(): LoadedPlan {
    return this.#reloads.loaded
  }

  /** Where all workers listen. */
  get origin(): string {
    return this.#started.origin ?? ''
  }

  get adminOrigin(): string | undefined {
    return this.#started.adminOrigin
  }

  /** Reads the files again, in all workers. */
  reload(): Promise<LoadedPlan> {
    return this.#reloads.reload()
  }

  /** All workers drain at once. */
  close(): Promise<void> {
    this.#closing ??= this.#end(false)
    return this.#closing
  }

  /** All workers end at once, also if they drain already. */
  async closeNow(): Promise<void> {
    const hurried = this.#closing === undefined ? undefined : this.#crew.end(true, URGENT_END_MS)
    this.#closing ??= this.#end(true)
    await hurried
    await this.#closing
  }

  async #start(): Promise<void> {
    await this.#crew.start()
    const { origin: address, adminOrigin: admin } = this
    const { digest, workers } = this.#reloads.running.plan
    this.#log.info({ address, admin, generation: 1, digest, workers }, 'all workers serve')
  }

  async #greet(member: Member): Promise<void> {
    const { number, link } = member
    link.on(RELOAD, async ({ counted, by }) => {
      if (counted) await this.#reloads.count()
      if (counted) for (const { link } of this.#crew.serving) link.tell(COUNTED, null)
      const { plan, problems } = counted ? this.#reloads.loaded : await this.#reloads.reload(by)
      return { isValid: plan !== undefined, problems }
    })
    link.on(HISTORY, () => this.#reloads.history())
    link.on(PAST_DOCUMENT, async ({ number: generation, at }) => {
      return (await this.#reloads.pastDocuments(generation))?.[at] ?? null
    })
    link.on(ROLLBACK, async ({ number: generation }) => {
      const loaded = await this.#reloads.rollback(generation)
      return loaded === undefined ? null : { isValid: loaded.plan !== undefined, problems: loaded.problems }
    })
    link.on(HELD, () => this.#reloads.held())
    link.on(REREAD, upstream => this.#reloads.rereadSecrets(upstream ?? undefined))
    link.on(DRAIN, () => void this.close())
    link.on(RESTART, () => this.#restart())
    await this.#rollout.greet(member, async generation => {
      const { file, env, overrides } = this.#options
      const health = { ...commonOf(this.#health), generation }
      const order = { number, file, env: { ...env }, overrides, health, log: this.#log.state }
      const started = await link.ask(START, order, STEP_TIMEOUT_MS)
      if (started.fault !== undefined) throw new StartError(started.fault)
      this.#started = started
    })
    // It may have been so only since the worker began to start.
    if (this.#options.overrides.counted === true) link.tell(COUNTED, null)
    link.tell(HEALTH, commonOf(this.#health))
  }

  #tellHealth(): void {
    this.#log.configure(this.#reloads.running.plan.log)
    for (const { link } of this.#crew.serving) link.tell(HEALTH, commonOf(this.#health))
  }

  /** New processes, with what is on the disk of the program now. */
  #restart(): void {
    this.#log.info({}, 'the workers are replaced, one after another')
    void this.#crew.roll(() => this.#endTimeout).then(() => this.#log.info({}, 'all workers are new'))
  }

  /** How long a worker may take to finish what is open, milliseconds. */
  get #endTimeout(): number {
    const { drain_delay = 0, drain } = this.#reloads.running.plan.limits
    return drain_delay + 2 * drain + END_MARGIN_MS
  }

  #giveUp(error: StartError): void {
    this.#log.error({ error: error.message }, 'the gateway ends')
    this.#failure = error
    void this.closeNow()
  }

  async #end(isUrgent: boolean): Promise<void> {
    this.#health.draining = true
    await this.#reloads.close()
    await this.#crew.end(isUrgent, isUrgent ? URGENT_END_MS : this.#endTimeout)
    await this.#embedded.close()
    await this.#leases.settled()
    await this.#store.close()
    await this.#log.close()
    if (this.#failure === undefined) this.#ended()
    else this.#failed(this.#failure)
  }
}
