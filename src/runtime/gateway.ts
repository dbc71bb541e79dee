import { existsSync } from 'node:fs'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { AdminHost } from '../admin/host.js'
import { loadChecks } from '../config/schemas.js'
import { atMost } from '../core/at-most.js'
import type { Caller } from '../core/caller.js'
import type { Placement } from '../core/placement.js'
import type { Plan } from '../core/plan.js'
import type { Store } from '../core/store.js'
import { checks } from '../features/checks/index.js'
import { FEATURES } from '../features/index.js'
import { authenticate } from '../features/keys/authenticate.js'
import { CALLERS } from '../features/keys/callers.js'
import { TASKS } from '../features/tasks/tasks.js'
import { Generation } from '../kernel/generation.js'
import { Kernel } from '../kernel/kernel.js'
import { Pipeline } from '../kernel/pipeline.js'
import type { Feature } from '../kernel/stages.js'
import { Pools } from '../net/pools.js'
import type { Log } from '../sinks/log.js'
import { Admin } from './admin.js'
import { Cuts } from './cuts.js'
import { descriptorLimit, onCrowded, warnOfDescriptors } from './descriptors.js'
import { FileDrafts } from './draft.js'
import { Embedded, SIMULATOR_FAULTS, type SimulatorPlace } from './embedded.js'
import { generationsOf } from './generations.js'
import { answerHealth, type Health, healthOf, logDisabled } from './health.js'
import { HealthLog } from './health-log.js'
import { retentionOf } from './ledger-retention.js'
import type { LoadedPlan } from './load.js'
import { GatewayMetrics } from './metrics.js'
import { type Opened, openFiles, type Start, startOf } from './opening.js'
import { startLog } from './own-log.js'
import { placesOf } from './places.js'
import type { PlanSource } from './plan-source.js'
import { messageOf, StartError } from './problems.js'
import { recordTasks } from './receipts.js'
import { type ReloadOptions, Reloads } from './reload.js'
import { restingFor, shownBy, withoutCredential } from './resting.js'
import { routingFor, shownRouting } from './routing.js'
import type { Seat } from './seat.js'
import { createServer, listen } from './server.js'
import { shownParts } from './shown-parts.js'
import { Sockets } from './sockets.js'
import { serveStoredKeys } from './store-keys.js'
import { Swap } from './swap.js'
import { Sweeper } from './sweeper.js'
import { logTasks } from './task-log.js'
import { answerWelcome } from './welcome.js'

export interface StartOptions extends Omit<ReloadOptions, 'env'> {
  /** Variables that the files may name. Default: those of the process. */
  readonly env?: ReloadOptions['env']
  /** Where log lines go. Default: standard error, in batches. */
  readonly log?: Writable
  /** What requests pass, in this order. Default: all features of the gateway. */
  readonly features?: readonly Feature[]
  /** Of a worker. Absent: this process is the whole gateway. */
  readonly seat?: Seat
}

const BEARER: readonly Placement[] = [{ in: 'header', name: 'authorization', scheme: 'Bearer' }]

/** Time for the last words of requests that are cut, and for the closing handshake of WebSockets, milliseconds. */
const LAST_WORDS_MS = 1000
/** How long a drain waits for the requests of connections that were opened just before it, milliseconds. */
const FIRST_REQUEST_MS = 500

/** A running gateway: it listens, serves the plan of the moment, and drains when it ends. */
export class Gateway {
  readonly #log: Log
  readonly #pools: Pools
  readonly #embedded: Embedded
  readonly #store: Store
  readonly #sweeper: Sweeper
  readonly #kernel: Kernel
  readonly #sockets: Sockets
  readonly #server: Server
  readonly #health: Health
  readonly #reloads: PlanSource
  readonly #admin: Admin | undefined
  readonly #metrics: GatewayMetrics
  /** Whether no supervisor says what holds for all workers. */
  readonly #isAlone: boolean
  /** Most that the process may have open, where the system says so. */
  readonly #descriptors = descriptorLimit()
  /** Requests that the drain did not wait for. */
  readonly #cuts: Cuts
  #closing: Promise<void> | undefined
  /** Aborted where the process is to end at once. */
  readonly #hurry = new AbortController()
  #ended: () => void = () => undefined
  /** Settles when the gateway has ended. */
  readonly closed: Promise<void>

  constructor(options: Start<StartOptions>, { loaded, running, store, state }: Opened, embedded: Embedded) {
    const { plan } = running
    const { seat } = options
    this.#pools = new Pools(plan.transport)
    this.#embedded = embedded
    this.#store = store
    this.#isAlone = seat === undefined
    this.#log = startLog(plan.log, options.log, seat?.peers.number, seat?.log)
    state.attach(this.#log)
    this.#sweeper = new Sweeper(store, state, () => retentionOf(this.plan))
    const pipeline = new Pipeline(options.features ?? FEATURES)
    const places = placesOf(embedded, options.env, this.#log)
    const generation = new Generation(plan, seat?.generation ?? 1, this.#pools, places)
    this.#metrics = new GatewayMetrics(store)
    this.#kernel = new Kernel(generation, this.#log, this.#metrics.store, pipeline, seat?.peers)
    this.#cuts = new Cuts(this.#kernel.calls)
    this.#sockets = new Sockets(this.#kernel, pipeline)
    this.#kernel.onRefusedCredential = upstream => this.#reloads.rereadSecrets(upstream)
    this.#kernel.onStageFault = (stage, hook, cause) =>
      this.#log.error({ stage, hook, error: String(cause) }, 'a stage failed')
    const healthLog = new HealthLog(this.#log)
    this.#kernel.onHealthChange = change => healthLog.changed(change)
    this.#kernel.onNotice = (fields, message, severity = 'warn') => this.#log[severity](fields, message)
    this.#kernel.onStoreFault = error => state.failed(error)
    state.onUp = () => this.#kernel.need(TASKS).checkNow()
    logTasks(this.#kernel, this.#log)
    serveStoredKeys(this.#kernel, this.#log, () => this.#reloads.count())
    this.#health = healthOf(plan, state)
    this.#server = this.#createServer(plan, caller => this.#shownFor(caller, pipeline))
    this.#server.on('connection', () => this.#kernel.turns.accepted())
    if (this.#descriptors !== undefined)
      onCrowded(this.#server, this.#descriptors, socket => this.#kernel.crowded.add(socket))
    const mine = { kernel: this.#kernel, server: this.#server, pools: this.#pools, log: this.#log }
    const served = { ...mine, embedded, places, pipeline }
    const parts = { target: new Swap(served), health: this.#health, log: this.#log, descriptors: this.#descriptors }
    this.#reloads = seat?.planSource(running, parts) ?? new Reloads(options, loaded, running, parts)
    this.#metrics.attach({
      pipeline,
      kernel: this.#kernel,
      server: this.#server,
      health: this.#health,
      plans: () => this.#reloads,
    })
    recordTasks(pipeline, this.#log)
    pipeline.serviceOf(checks)?.prepare(plan.checks)
    this.#admin = plan.admin && new Admin(plan.admin, this.#adminParts(pipeline, options))
    this.closed = new Promise(ended => {
      this.#ended = ended
    })
  }

  #shownFor(caller: Caller, pipeline: Pipeline): ReturnType<Parameters<typeof answerHealth>[3]> {
    const reached = this.plan.models.upstreams(caller)
    const resting = restingFor(reached, shownBy(pipeline))
    return { resting, ...withoutCredential(reached, pipeline), ...routingFor(caller, shownRouting(pipeline)) }
  }

  #adminParts(pipeline: Pipeline, options: Start<StartOptions>): ConstructorParameters<typeof Admin>[1] {
    const { seat } = options
    return {
      kernel: this.#kernel,
      log: this.#log,
      running: () => this.#reloads.running,
      drain: () => (seat === undefined ? void this.close() : seat.drain()),
      ...(seat !== undefined && { restart: () => seat.restart() }),
      ...shownParts(pipeline, this.#metrics),
      simulator: SIMULATOR_FAULTS,
      openSocket: this.#openSocket,
      draft: new FileDrafts(options, () => this.#reloads),
      ...generationsOf(() => this.#reloads),
    }
  }

  readonly #openSocket: AdminHost['openSocket'] = (request, socket, head) => {
    this.#sockets.open(request, socket, head, error => {
      socket.destroy()
      this.#log.error({ error: error.message }, 'a WebSocket could not be opened')
    })
  }

  #createServer(plan: Plan, shown: Parameters<typeof answerHealth>[3]): Server {
    return createServer(
      plan.listen,
      plan.limits,
      exchange => {
        if (answerHealth(exchange, this.#health, one => this.#knows(one), shown)) return
        if (answerWelcome(exchange, () => this.plan.match('GET', '/', exchange.headers).route !== undefined)) return
        this.#kernel.arrive(exchange)
      },
      (code, connected) => {
        const client = this.#kernel.generation.clients.of(connected, undefined)
        this.#log.info({ parse_error: code, client }, 'request refused before it could be read')
      },
      this.#openSocket,
      plan.transport,
    )
  }

  /** The plan that serves new requests. */
  get plan(): Plan {
    return this.#kernel.generation.plan
  }

  /** What the files said when they were last read, problems included. */
  get loaded(): LoadedPlan {
    return this.#reloads.loaded
  }

  get health(): Readonly<Health> {
    return this.#health
  }

  /** Bodies in the spool at the moment. */
  get held(): Kernel['spooler']['use'] {
    return this.#kernel.spooler.use
  }

  /** Bytes that are reserved for large bodies at the moment, and requests that wait for such memory. */
  get bodyMemory(): { readonly held: number; readonly waiting: number } {
    const { held, waiting } = this.#kernel.memory.bodies
    return { held, waiting }
  }

  /** Requests that wait for a connection to their upstream. */
  get waiting(): number {
    return this.#pools.waiting
  }

  /** What the embedded simulator received, newest last. */
  get simulated(): Embedded['received'] {
    return this.#embedded.received
  }

  /** `http://127.0.0.1:8080`: where this process listens. */
  get origin(): string {
    const { address, port, family } = this.#server.address() as AddressInfo
    const host = family === 'IPv6' ? `[${address}]` : address
    return `${this.plan.listen.tls === undefined ? 'http' : 'https'}://${host}:${port}`
  }

  /** Where the admin API listens; undefined where it does not. */
  get adminOrigin(): string | undefined {
    return this.#admin?.origin
  }

  /** Opens the listener. Throws {@link StartError} where that cannot be. */
  async listen(): Promise<void> {
    await this.#admin?.listen()
    await listen(this.#server, this.plan.listen)
    this.#server.on('error', error => this.#log.error({ error: error.message }, 'listener failed'))
    await this.#sweep()
    void loadChecks()
    this.#kernel.need(TASKS).start()
    this.#kernel
      .need(CALLERS)
      .start()
      .catch(error => this.#kernel.onStoreFault(error))
    const { origin: address, adminOrigin: admin } = this
    const { number, plan } = this.#kernel.generation
    this.#log.info({ address, admin, generation: number, digest: plan.digest }, 'listening')
    if (!this.#isAlone) return
    logDisabled(plan, this.#log)
    warnOfDescriptors(plan, this.#descriptors, this.#log)
  }

  /** Removes body files that a crash left on the disk. An unusable folder is reported, and large bodies are refused later. */
  async #sweep(): Promise<void> {
    if (!existsSync(this.plan.spool.path)) return
    await this.#kernel.spooler.prepare().catch((error: Error) => {
      this.#log.warn({ error: error.message }, 'large requests cannot be stored')
    })
  }

  /** Where upstreams of the simulator are, from the next plan on. */
  reach(simulator: SimulatorPlace | undefined): void {
    this.#embedded.place = simulator
  }

  /** Follows the files of `loaded` from now on. */
  follow(loaded: LoadedPlan): Promise<void> {
    return this.#reloads.follow(loaded)
  }

  /** Reads the files again; calls that come while they are being read share one further reading. */
  reload(): Promise<LoadedPlan> {
    return this.#reloads.reload()
  }

  /** Whose key the request presents. */
  async #knows(request: Parameters<typeof authenticate>[0]): Promise<Caller | undefined> {
    try {
      return await authenticate(request, undefined, BEARER, this.#kernel.need(CALLERS), this.plan)
    } catch {
      return undefined
    }
  }

  /** Drains: accepts no new connections, gives requests in flight time to finish, and ends the rest with an error. */
  close(): Promise<void> {
    this.#closing ??= this.#drain()
    return this.#closing
  }

  async #drain(): Promise<void> {
    this.#health.draining = true
    await this.#announced()
    this.#kernel.draining = true
    const { calls } = this.#kernel
    const before = calls.size
    await this.#reloads.close()
    const { limits } = this.plan
    // Listens no more, and closes idle connections.
    const closed = new Promise<void>(done => this.#server.close(() => done()))
    this.#sockets.drain()
    this.#cuts.after(limits.drain)
    // Submits of tasks may outlive the cut by as much again; a client that does not read may not hold the process longer.
    await atMost(2 * limits.drain + LAST_WORDS_MS, this.#emptied(closed, limits.drain))
    this.#cuts.stop()
    await this.#sockets.empty(LAST_WORDS_MS)
    const { count: cut } = this.#cuts
    this.#log.info({ drained: Math.max(0, before - cut), cut }, 'drained')
    await this.#end()
  }

  async #emptied(closed: Promise<void>, drain: number): Promise<void> {
    await this.#kernel.idle()
    // The first request of a connection that was opened just before may be on its way.
    await atMost(Math.min(FIRST_REQUEST_MS, drain), closed)
    await this.#kernel.idle()
    await this.#kernel.need(TASKS).submitted()
  }

  /** Time for load balancers to see `/readyz` and to send nothing more. */
  async #announced(): Promise<void> {
    const { drain_delay = 0 } = this.plan.limits
    if (drain_delay > 0) await delay(drain_delay, undefined, { signal: this.#hurry.signal }).catch(() => undefined)
  }

  /** Ends at once: requests in flight get an error, and connections are cut. */
  async closeNow(): Promise<void> {
    this.#hurry.abort()
    this.#health.draining = true
    this.#kernel.draining = true
    this.#server.close()
    this.#sockets.drain()
    this.#cuts.now()
    await this.#reloads.close()
    await this.#end()
  }

  async #end(): Promise<void> {
    this.#admin?.close()
    this.#server.closeAllConnections()
    this.#sockets.terminate()
    // Breaking the connections ends the polls that are under way.
    const tasks = this.#kernel.need(TASKS).stop()
    await this.#pools.destroy()
    await tasks
    await this.#embedded.close()
    await this.#sweeper.stop()
    await this.#kernel.spooler.close()
    await this.#kernel.close()
    await this.#store.close()
    await this.#log.close()
    this.#ended()
  }
}

/**
 * Loads, checks, compiles, listens and watches, all in this process. Throws {@link ConfigError} or {@link StartError}.
 */
export async function startGateway(given: StartOptions): Promise<Gateway> {
  const options = startOf(given)
  return serveHere(options, await openFiles(options))
}

/** The rest of it. Closes the store where it fails. */
export async function serveHere(options: Start<StartOptions>, opened: Opened): Promise<Gateway> {
  const { loaded, running, store } = opened
  const embedded = new Embedded()
  embedded.place = options.seat?.simulator
  let gateway: Gateway
  await embedded.prepare(running.plan).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  try {
    gateway = new Gateway(options, opened, embedded)
  } catch (error) {
    await embedded.close()
    await store.close()
    throw new StartError(`the listener cannot be set up: ${messageOf(error)}`)
  }
  try {
    await gateway.listen()
  } catch (error) {
    await gateway.closeNow()
    throw error
  }
  await gateway.follow(loaded)
  return gateway
}
