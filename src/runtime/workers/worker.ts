import cluster from 'node:cluster'
import { endSignals, reloadSignals } from '../../core/platform.js'
import { NOTHING } from '../../features/generations/measured.js'
import type { SimulatorPlace } from '../embedded.js'
import { type Gateway, serveHere } from '../gateway.js'
import { generatedKey } from '../generated-keys.js'
import { compileRead, type Running } from '../load.js'
import { messageOf } from '../problems.js'
import { Assembly } from '../reading/slices.js'
import type { Seat } from '../seat.js'
import { setCounting } from '../store-keys.js'
import { StoreState } from '../store-state.js'
import { openStore } from '../stores.js'
import { type Frame, Link } from './link.js'
import {
  COMMIT,
  COUNTED,
  DRAIN,
  DROP,
  END,
  ENTRIES,
  HEALTH,
  HELLO,
  MEASURED,
  PREPARE,
  RESTART,
  START,
  type Started,
  type StartOrder,
  TRY,
} from './messages.js'
import { WorkerPeers } from './peers.js'
import { RemotePlans } from './remote-plans.js'

/** They may go to the whole process group: the supervisor decides what follows. */
const SIGNALS = [...endSignals(), ...reloadSignals()]

/** Serves as one of several processes until the supervisor says that it ends, or is gone. False: no supervisor is there. */
export async function work(): Promise<boolean> {
  const { worker } = cluster
  if (worker === undefined || process.send === undefined) return false
  for (const signal of SIGNALS) process.on(signal, () => undefined)
  // Otherwise the process would end together with its supervisor, with requests in flight.
  worker.exitedAfterDisconnect = true
  const link = new Link((frame, sent) => {
    if (process.connected) process.send?.(frame, undefined, undefined, () => sent())
    else sent()
  })
  const own = new Worker(link)
  process.on('message', (frame: Frame) => link.receive(frame))
  process.on('disconnect', () => {
    link.close()
    own.end(false)
  })
  link.tell(HELLO, null)
  await own.ended
  return true
}

type Next = Running & { readonly number: number; readonly simulator: SimulatorPlace | undefined }

class Worker {
  readonly #link: Link
  #assembly: Assembly | undefined
  /** What a new process is to start with. */
  #first: Next | undefined
  #plans: RemotePlans | undefined
  #gateway: Gateway | undefined
  #isStarting = false
  /** It was asked to end. */
  #end: { readonly isUrgent: boolean } | undefined
  #onEnded: () => void = () => undefined
  readonly ended: Promise<void>

  constructor(link: Link) {
    this.#link = link
    this.ended = new Promise(ended => {
      this.#onEnded = ended
    })
    link.on(ENTRIES, entries => {
      this.#assembly ??= new Assembly(this.#plans?.running.config)
      this.#assembly.add(entries)
    })
    link.on(PREPARE, async ({ settings, digest, generation, simulator }) => {
      const assembly = this.#assembly ?? new Assembly(undefined)
      this.#assembly = undefined
      try {
        await this.#prepare(assembly, settings, { digest, number: generation, simulator })
        return {}
      } catch (error) {
        return { fault: messageOf(error) }
      }
    })
    link.on(TRY, async ({ number, share }) => await this.#plans?.try(number, share))
    link.on(COMMIT, async ({ number }) => await this.#plans?.commit(number))
    link.on(DROP, ({ number }) => {
      this.#assembly = undefined
      this.#plans?.drop(number)
    })
    link.on(MEASURED, async () => (await this.#plans?.measured()) ?? { fresh: NOTHING, stable: NOTHING })
    link.on(START, order => this.#start(order))
    link.on(HEALTH, common => this.#plans?.hear(common))
    link.on(END, ({ isUrgent }) => this.end(isUrgent))
  }

  /** Finishes what is open first, unless it is urgent. While it starts, it ends after that. */
  end(isUrgent: boolean): void {
    const gateway = this.#gateway
    this.#end = { isUrgent }
    if (gateway !== undefined) void (isUrgent ? gateway.closeNow() : gateway.close())
    else if (!this.#isStarting) this.#onEnded()
  }

  async #prepare(
    assembly: Assembly,
    settings: unknown,
    { digest, number, simulator }: { readonly digest: string } & Pick<Next, 'number' | 'simulator'>,
  ): Promise<void> {
    const config = assembly.finish(settings)
    // They are there: the supervisor has made them, in the folder that it began with.
    const generated = (name: string): ReturnType<typeof generatedKey> =>
      generatedKey((this.#first?.config ?? config).store.path, name, false)
    const plan = await compileRead(config, digest, { generated }, this.#plans?.running.plan)
    const running = { plan, config }
    this.#gateway?.reach(simulator)
    if (this.#plans === undefined) this.#first = { ...running, number, simulator }
    else await this.#plans.prepare(running, number)
  }

  async #start(order: StartOrder): Promise<Started> {
    this.#isStarting = true
    const started = await this.#open(order)
    this.#isStarting = false
    if (this.#end !== undefined) this.end(this.#end.isUrgent)
    return started
  }

  async #open({ number, file, env, overrides, health, log }: StartOrder): Promise<Started> {
    if (this.#first === undefined) return { fault: 'a worker has nothing to start with' }
    const { simulator, number: generation, ...running } = this.#first
    const seat: Seat = {
      peers: new WorkerPeers(number, this.#link),
      generation,
      simulator,
      log,
      planSource: (first, parts) => {
        this.#plans = new RemotePlans(this.#link, first, parts)
        this.#plans.hear(health)
        return this.#plans
      },
      drain: () => void this.#link.tell(DRAIN, null),
      restart: () => void this.#link.tell(RESTART, null),
    }
    try {
      const state = new StoreState()
      const store = await openStore(running.plan.store, state)
      const { problems, digest } = { problems: health.problems, digest: running.plan.digest }
      const loaded = { ...running, problems, digest, sources: [], watch: [], parsed: new Map(), documents: undefined }
      const options = { file, env, overrides, seat }
      this.#link.on(COUNTED, () => setCounting(overrides))
      const gateway = await serveHere(options, { loaded, running, store, state })
      this.#gateway = gateway
      void gateway.closed.then(this.#onEnded)
      return { origin: gateway.origin, adminOrigin: gateway.adminOrigin }
    } catch (error) {
      return { fault: messageOf(error) }
    }
  }
}
