import { existsSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { loadChecks } from '../config/schemas.js'
import { GatewayError } from '../core/errors.js'
import type { Placement } from '../core/placement.js'
import type { Caller, Plan } from '../core/plan.js'
import type { Store } from '../core/store.js'
import { FEATURES } from '../features/index.js'
import { limits } from '../features/limits/index.js'
import { authenticate } from '../kernel/authenticate.js'
import { Generation } from '../kernel/generation.js'
import { Kernel } from '../kernel/kernel.js'
import { Pipeline } from '../kernel/pipeline.js'
import type { Feature } from '../kernel/stages.js'
import { Pools } from '../net/pools.js'
import { type Log, openLog } from '../sinks/log.js'
import { Admin } from './admin.js'
import { descriptorLimit, onCrowded, warnOfDescriptors } from './descriptors.js'
import { Embedded } from './embedded.js'
import { answerHealth, type Health } from './health.js'
import { type LoadedPlan, loadPlan, type Running } from './load.js'
import { ConfigError, messageOf, StartError } from './problems.js'
import { type ReloadOptions, Reloads } from './reload.js'
import { createServer, listen } from './server.js'
import { shownEntries } from './shown.js'
import { Sockets } from './sockets.js'
import { isCounting, loadCounting, needsCounting, serveStoredKeys, setCounting } from './store-keys.js'
import { StoreState } from './store-state.js'
import { openStore } from './stores.js'
import { Sweeper } from './sweeper.js'
import { answerWelcome } from './welcome.js'

export interface StartOptions extends Omit<ReloadOptions, 'env'> {
  /** Variables that the files may name. Default: those of the process. */
  readonly env?: ReloadOptions['env']
  /** Where log lines go. Default: standard error, in batches. */
  readonly log?: Writable
  /** What requests pass, in this order. Default: all features of the gateway. */
  readonly features?: readonly Feature[]
}

const BEARER: readonly Placement[] = [{ in: 'header', name: 'authorization', scheme: 'Bearer' }]

/** Time for the closing handshake of WebSockets when the process ends, milliseconds. */
const SOCKET_CLOSE_TIMEOUT_MS = 1000

/** A running gateway: it listens, serves the plan of the moment, and drains when it ends. */
export class Gateway {
  readonly #log: Log
  readonly #pools: Pools
  readonly #embedded: Embedded
  readonly #store: Store
  readonly #sweeper: Sweeper
  readonly #kernel: Kernel
  readonly #sockets: Sockets
  readonly #server: Server | HttpsServer
  readonly #health: Health
  readonly #reloads: Reloads
  readonly #admin: Admin | undefined
  /** Most that the process may have open, where the system says so. */
  readonly #descriptors = descriptorLimit()
  /** Requests that the drain did not wait for. */
  #cutCalls = 0
  #closing: Promise<void> | undefined
  /** Aborted where the process is to end at once. */
  readonly #hurry = new AbortController()
  #ended: () => void = () => undefined
  /** Settles when the gateway has ended. */
  readonly closed: Promise<void>

  constructor(
    options: StartOptions & ReloadOptions,
    loaded: LoadedPlan,
    running: Running,
    embedded: Embedded,
    store: Store,
    state: StoreState,
  ) {
    const { plan } = running
    this.#pools = new Pools(plan.transport)
    this.#embedded = embedded
    this.#store = store
    this.#log = openLog(plan.log.level, options.log)
    state.attach(this.#log)
    this.#sweeper = new Sweeper(store, state, () => this.plan.accounting?.ledger?.retention)
    const pipeline = new Pipeline(options.features ?? FEATURES)
    this.#kernel = new Kernel(new Generation(plan, 1, this.#pools, embedded), this.#log, store, pipeline)
    this.#sockets = new Sockets(this.#kernel, pipeline)
    this.#kernel.onRefusedCredential = () => this.#reloads.rereadSecrets()
    this.#kernel.onStageFault = (stage, hook, cause) =>
      this.#log.error({ stage, hook, error: String(cause) }, 'a stage failed')
    this.#kernel.onStoreFault = error => state.failed(error)
    state.onUp = () => this.#kernel.tasks.checkNow()
    this.#logTasks()
    serveStoredKeys(this.#kernel, this.#log, () => this.#count(options))
    this.#health = healthOf(plan, state)
    this.#server = this.#createServer(plan)
    this.#server.on('connection', () => this.#kernel.turns.accepted())
    if (this.#descriptors !== undefined) {
      onCrowded(this.#server, this.#descriptors, socket => this.#kernel.crowded.add(socket))
    }
    this.#reloads = new Reloads(options, loaded, running, {
      kernel: this.#kernel,
      server: this.#server,
      health: this.#health,
      pools: this.#pools,
      embedded,
      log: this.#log,
      descriptors: this.#descriptors,
    })
    this.#admin = plan.admin && new Admin(plan.admin, this.#adminParts(pipeline))
    this.closed = new Promise(ended => {
      this.#ended = ended
    })
  }

  #adminParts(pipeline: Pipeline): ConstructorParameters<typeof Admin>[1] {
    return {
      kernel: this.#kernel,
      log: this.#log,
      running: () => this.#reloads.running,
      drain: () => void this.close(),
      limits: async scopes => (await pipeline.serviceOf(limits)?.shown(scopes)) ?? [],
      reload: async () => {
        const { plan, problems } = await this.reload()
        return { isValid: plan !== undefined, problems }
      },
    }
  }

  #createServer(plan: Plan): Server | HttpsServer {
    return createServer(
      plan.listen,
      plan.limits,
      exchange => {
        if (answerHealth(exchange, this.#health, one => this.#knows(one))) return
        if (answerWelcome(exchange, () => this.plan.match('GET', '/', exchange.headers).route !== undefined)) return
        this.#kernel.serve(exchange)
      },
      (code, connected) => {
        const client = this.#kernel.generation.clients.of(connected, undefined)
        this.#log.info({ parse_error: code, client }, 'request refused before it could be read')
      },
      (request, socket, head) => {
        this.#sockets.open(request, socket, head).catch((error: Error) => {
          socket.destroy()
          this.#log.error({ error: error.message }, 'a WebSocket could not be opened')
        })
      },
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
    this.#kernel.tasks.start()
    this.#kernel.callers.start().catch(error => this.#kernel.onStoreFault(error))
    const { origin: address, adminOrigin: admin } = this
    this.#log.info({ address, admin, generation: 1, digest: this.plan.digest }, 'listening')
    this.#logDisabled(this.plan)
    warnOfDescriptors(this.plan, this.#descriptors, this.#log)
  }

  /** Their callers get "model not found". */
  #logDisabled({ off: { upstreams, models } }: Plan): void {
    if (upstreams.size === 0) return
    this.#log.warn({ upstreams: shownEntries(upstreams), models: shownEntries(models) }, 'upstreams are off')
  }

  /** Removes body files that a crash left on the disk. An unusable folder is reported, and large bodies are refused later. */
  async #sweep(): Promise<void> {
    if (!existsSync(this.plan.spool.path)) return
    await this.#kernel.spooler.prepare().catch((error: Error) => {
      this.#log.warn({ error: error.message }, 'large requests cannot be stored')
    })
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
      return await authenticate(request, undefined, BEARER, this.#kernel.callers, this.plan)
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
    this.#server.close()
    this.#sockets.drain()
    const grace = setTimeout(() => this.#cut(), this.plan.limits.drain)
    await this.#kernel.idle()
    await this.#kernel.tasks.submitted(this.plan.limits.drain)
    clearTimeout(grace)
    await this.#sockets.empty(SOCKET_CLOSE_TIMEOUT_MS)
    this.#log.info({ drained: before - this.#cutCalls, cut: this.#cutCalls }, 'drained')
    await this.#end()
  }

  /** Time for load balancers to see `/readyz` and to send nothing more. */
  async #announced(): Promise<void> {
    const { drain_delay = 0 } = this.plan.limits
    if (drain_delay > 0) await delay(drain_delay, undefined, { signal: this.#hurry.signal }).catch(() => undefined)
  }

  #logTasks(): void {
    const { tasks } = this.#kernel
    tasks.onChange = change => this.#log[change.to === 'failed' ? 'warn' : 'info'](change, 'task changed')
    tasks.onOtherCredential = first => {
      this.#log.warn(first, 'tasks continue with another credential than the one that started them')
    }
    tasks.hooks.onAttempt = ({ outcome, ...attempt }) => {
      this.#log[outcome === 'taken' ? 'info' : 'warn'](attempt, `notification ${outcome}`)
    }
  }

  /** Keys of the store have limits: from now on requests are counted, also if the files have none. */
  async #count({ overrides }: StartOptions): Promise<void> {
    if (overrides === undefined || isCounting(this.plan)) return
    setCounting(overrides)
    await this.reload()
  }

  #cut(): void {
    this.#kernel.calls.visit(call => {
      this.#cutCalls++
      call.cut(new GatewayError('unavailable', 'The gateway is shutting down.', { retryAfter: 1000, phase: 'drain' }))
    })
  }

  /** Ends at once: requests in flight get an error, and connections are cut. */
  async closeNow(): Promise<void> {
    this.#hurry.abort()
    this.#health.draining = true
    this.#kernel.draining = true
    this.#server.close()
    this.#sockets.drain()
    this.#cut()
    await this.#reloads.close()
    await this.#end()
  }

  async #end(): Promise<void> {
    this.#admin?.close()
    this.#server.closeAllConnections()
    this.#sockets.terminate()
    // Breaking the connections ends the polls that are under way.
    const tasks = this.#kernel.tasks.stop()
    await this.#pools.destroy()
    await tasks
    await this.#embedded.close()
    await this.#sweeper.stop()
    this.#kernel.callers.close()
    await this.#kernel.spooler.close()
    await this.#kernel.state.settled()
    await this.#kernel.close()
    await this.#store.close()
    await this.#log.close()
    this.#ended()
  }
}

/** Loads, checks, compiles, listens and watches. Throws {@link ConfigError} or {@link StartError}. */
export async function startGateway(given: StartOptions): Promise<Gateway> {
  const options = { env: process.env, ...given, file: resolve(given.file), overrides: { ...given.overrides } }
  const first = await loadPlan(options)
  const state = new StoreState()
  const store = await openStore(mustHave(first).plan.store, state)
  const loaded = (await needsCounting(mustHave(first).plan, store)) ? await loadCounting(options) : first
  const { plan, config } = loaded
  if (plan === undefined || config === undefined) {
    await store.close()
    throw new ConfigError(loaded.problems)
  }
  const embedded = new Embedded()
  let gateway: Gateway
  await embedded.prepare(plan).catch(async (error: unknown) => {
    await store.close()
    throw error
  })
  try {
    gateway = new Gateway(options, loaded, { plan, config }, embedded, store, state)
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

/** Throws {@link ConfigError} where there is no plan. */
function mustHave({ plan, config, problems }: LoadedPlan): Running {
  if (plan === undefined || config === undefined) throw new ConfigError(problems)
  return { plan, config }
}

function healthOf(plan: Plan, state: StoreState): Health {
  return {
    draining: false,
    generation: 1,
    digest: plan.digest,
    reloads: { applied: 0, failed: 0, unchanged: 0 },
    valid: true,
    problems: [],
    restart: [],
    off: plan.off,
    store: { type: plan.store.type, state },
  }
}
