import { existsSync } from 'node:fs'
import type { Server } from 'node:http'
import type { Server as HttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { resolve } from 'node:path'
import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Config } from '../core/config.js'
import { GatewayError } from '../core/errors.js'
import type { Placement } from '../core/placement.js'
import type { Caller, Plan } from '../core/plan.js'
import type { Problem } from '../core/problems.js'
import { atOnce, inSlices, type Steps } from '../core/steps.js'
import type { Store } from '../core/store.js'
import { authenticate } from '../kernel/authenticate.js'
import { Generation } from '../kernel/generation.js'
import { handle } from '../kernel/handle.js'
import { Kernel } from '../kernel/kernel.js'
import { Pools } from '../net/pools.js'
import { type Log, openLog } from '../sinks/log.js'
import { changesBetween } from './changes.js'
import { descriptorLimit, descriptorsWanted, onCrowded } from './descriptors.js'
import { Embedded } from './embedded.js'
import { answerHealth, type Health } from './health.js'
import { type LoadedPlan, type LoadOptions, loadPlan, type Running, reloadPlan } from './load.js'
import { OneAfterAnother } from './one-after-another.js'
import { ConfigError, StartError } from './problems.js'
import { needsRestart, type StartSettings } from './restart.js'
import { applyLimits, createServer, listen } from './server.js'
import { shownEntries } from './shown.js'
import { Sockets } from './sockets.js'
import { StoreState } from './store-state.js'
import { openStore } from './stores.js'
import { Sweeper } from './sweeper.js'
import { type SourceWatch, watchSources } from './watch.js'
import { answerWelcome } from './welcome.js'

export interface StartOptions extends Omit<LoadOptions, 'env'> {
  /** Variables that the files may name. Default: those of the process. */
  readonly env?: LoadOptions['env']
  /** Follow the files and reload when they change. Default true. */
  readonly watch?: boolean
  /** Where log lines go. Default: standard error, in batches. */
  readonly log?: Writable
}

const BEARER: readonly Placement[] = [{ in: 'header', name: 'authorization', scheme: 'Bearer' }]

/** Time for the closing handshake of WebSockets when the process ends, milliseconds. */
const SOCKET_CLOSE_TIMEOUT_MS = 1000

/**
 * A running gateway. Reloading is a transaction: read, check, compile, acquire pools, swap one pointer; on any error the
 * old plan goes on serving.
 */
export class Gateway {
  readonly #options: StartOptions & LoadOptions
  /** Settings that the process started with. */
  readonly #first: StartSettings
  /** What serves, and what it was compiled from. */
  #running: Running
  #loaded: LoadedPlan
  readonly #log: Log
  readonly #pools = new Pools()
  readonly #embedded: Embedded
  readonly #store: Store
  readonly #sweeper: Sweeper
  readonly #kernel: Kernel
  readonly #sockets: Sockets
  readonly #server: Server | HttpsServer
  readonly #health: Health
  #watch: SourceWatch | undefined
  /** Keys that cannot be used, each with the reason. */
  #unusable: ReadonlyMap<string, string>
  #reread = 0
  /** Whether the next reload was requested; otherwise the log says that files have changed. */
  #isAsked = false
  /** How the last reload failed, where it did. */
  #failure: string | undefined
  /** Most that the process may have open, where the system says so. */
  readonly #descriptors = descriptorLimit()
  /** Requests that the drain did not wait for. */
  #cutCalls = 0
  readonly #reloads = new OneAfterAnother(() => this.#reload())
  #closing: Promise<void> | undefined
  /** Aborted where the process is to end at once. */
  readonly #hurry = new AbortController()
  #ended: () => void = () => undefined
  /** Settles when the gateway has ended. */
  readonly closed: Promise<void>

  constructor(
    options: StartOptions & LoadOptions,
    loaded: LoadedPlan,
    running: Running,
    embedded: Embedded,
    store: Store,
    state: StoreState,
  ) {
    this.#options = options
    const { plan } = running
    this.#loaded = loaded
    this.#running = running
    this.#first = { listen: plan.listen, store: plan.store, spool: plan.spool }
    this.#unusable = atOnce(unusable(running.config))
    this.#embedded = embedded
    this.#store = store
    this.#log = openLog(plan.log.level, options.log)
    state.attach(this.#log)
    this.#sweeper = new Sweeper(store, state)
    this.#kernel = new Kernel(new Generation(plan, 1, this.#pools, embedded), this.#log, store)
    this.#sockets = new Sockets(this.#kernel)
    this.#kernel.onRefusedCredential = () => this.#rereadSecrets()
    this.#kernel.onStoreFault = error => state.failed(error)
    state.onUp = () => this.#kernel.tasks.checkNow()
    this.#logTasks()
    this.#health = {
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
    this.#server = createServer(
      plan.listen,
      plan.limits,
      (request, response) => {
        if (answerHealth(request, response, this.#health, one => this.#knows(one))) return
        if (answerWelcome(request, response, () => this.plan.match('GET', '/', request.headers).route !== undefined))
          return
        handle(this.#kernel, request, response)
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
    )
    this.#server.on('connection', () => this.#kernel.turns.accepted())
    if (this.#descriptors !== undefined) {
      onCrowded(this.#server, this.#descriptors, socket => this.#kernel.crowded.add(socket))
    }
    this.closed = new Promise(ended => {
      this.#ended = ended
    })
  }

  /** The plan that serves new requests. */
  get plan(): Plan {
    return this.#kernel.generation.plan
  }

  /** What the files said when they were last read, problems included. */
  get loaded(): LoadedPlan {
    return this.#loaded
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

  /** Opens the listener. Throws {@link StartError} where that cannot be. */
  async listen(): Promise<void> {
    await listen(this.#server, this.plan.listen)
    this.#server.on('error', error => this.#log.error({ error: error.message }, 'listener failed'))
    await this.#sweep()
    this.#kernel.tasks.start()
    this.#log.info({ address: this.origin, generation: 1, digest: this.plan.digest }, 'listening')
    this.#logDisabled(this.plan)
    this.#logDescriptors(this.plan)
  }

  /** Their callers get "model not found". */
  #logDisabled({ off: { upstreams, models } }: Plan): void {
    if (upstreams.size === 0) return
    this.#log.warn({ upstreams: shownEntries(upstreams), models: shownEntries(models) }, 'upstreams are off')
  }

  /** Under load such a process refuses what its limits would allow. */
  #logDescriptors(plan: Plan): void {
    const needed = descriptorsWanted(plan)
    if (this.#descriptors === undefined || this.#descriptors >= needed) return
    this.#log.warn(
      { limit: 'descriptors', open_files: this.#descriptors, needed },
      'too few file descriptors for what limits.in_flight and limits.connections allow: raise `ulimit -n`, or lower them',
    )
  }

  /** Removes body files that a crash left on the disk. An unusable folder is reported, and large bodies are refused later. */
  async #sweep(): Promise<void> {
    if (!existsSync(this.plan.spool.path)) return
    await this.#kernel.spooler.prepare().catch((error: Error) => {
      this.#log.warn({ error: error.message }, 'large requests cannot be stored')
    })
  }

  /** Follows the files of `loaded` from now on. */
  async follow(loaded: LoadedPlan): Promise<void> {
    if (this.#options.watch === false) return
    if (this.#watch !== undefined) return this.#watch.update(loaded.sources, loaded.watch)
    this.#watch = watchSources({
      sources: loaded.sources,
      folders: loaded.watch,
      onChange: async () => {
        await this.#reloads.run()
      },
      onError: error => this.#log.warn({ error: error.message }, 'watching the configuration failed; trying again'),
    })
    await this.#watch.ready
  }

  /** Reads the files again; calls that come while they are being read share one further reading. */
  reload(): Promise<LoadedPlan> {
    this.#isAsked = true
    return this.#reloads.run()
  }

  async #reload(): Promise<LoadedPlan> {
    const isAsked = this.#isAsked
    this.#isAsked = false
    this.#log.debug({ asked: isAsked }, 'reloading the configuration')
    const loaded = await this.#load(isAsked)
    if (this.#health.draining) return loaded
    this.#loaded = loaded
    await this.follow(loaded)
    const { plan, config } = loaded
    if (plan === undefined || config === undefined) this.#refuse(loaded, isAsked)
    else if (plan === this.plan) this.#unchanged(loaded)
    else await this.#apply({ plan, config }, loaded.problems)
    return loaded
  }

  async #load(isAsked: boolean): Promise<LoadedPlan> {
    try {
      return await reloadPlan(this.#options, this.#running)
    } catch (error) {
      this.#failed({ error: messageOf(error) }, messageOf(error), isAsked)
      throw error
    }
  }

  /**
   * An invalid save may be read more than once, because the files that it names are watched from then on. It is
   * reported once, unless a reload was requested. `same` identifies the failure.
   */
  #failed(fields: object, same: string, isAsked: boolean): void {
    if (this.#failure === same && !isAsked) {
      this.#log.debug({}, 'the configuration is still invalid, with the same problems')
      return
    }
    this.#failure = same
    this.#health.reloads.failed++
    this.#health.valid = false
    this.#log.error(fields, 'reload failed; the last valid configuration stays')
  }

  #unchanged({ problems: warnings }: LoadedPlan): void {
    this.#health.reloads.unchanged++
    this.#failure = undefined
    // The messages may change with time alone: certificates expire.
    if (warnings.length > 0) this.#log.warn({ warnings: warnings.map(briefly) }, 'the files are unchanged')
    if (!this.#health.valid) this.#log.info({ generation: this.#health.generation }, 'the configuration is valid again')
    this.#health.valid = true
    this.#health.problems = []
  }

  #refuse({ problems, digest }: LoadedPlan, isAsked: boolean): void {
    this.#health.problems = problems
    const { generation } = this.#health
    const told = problems.map(briefly)
    this.#failed({ generation, problems: told }, digest + JSON.stringify(told), isAsked)
  }

  async #apply(next: Running, warnings: readonly Problem[]): Promise<void> {
    const { plan, config } = next
    await this.#embedded.prepare(plan)
    const withoutSecret = await inSlices(unusable(config))
    const changes = await inSlices(changesBetween(this.#running.config, config))
    if (this.#health.draining) return
    const before = this.plan
    const generation = new Generation(plan, this.#health.generation + 1, this.#pools, this.#embedded)
    this.#kernel.swap(generation)
    this.#running = next
    applyLimits(this.#server, plan.limits)
    this.#renewCertificate(plan)
    this.#log.level(plan.log.level)
    this.#health.generation = generation.number
    this.#health.digest = plan.digest
    this.#health.reloads.applied++
    this.#failure = undefined
    this.#health.valid = true
    this.#health.problems = []
    this.#health.restart = needsRestart(this.#first, plan)
    this.#health.off = plan.off
    const told = warnings.length > 0 ? { warnings: warnings.map(briefly) } : {}
    this.#log.info({ generation: generation.number, digest: plan.digest, ...changes, ...told }, 'reloaded')
    for (const { name, off } of plan.upstreams.values()) {
      const was = before.upstreams.get(name)?.off
      if (off !== undefined && off !== was) this.#log.warn({ upstream: name, reason: off }, 'an upstream is off')
      if (off === undefined && was !== undefined) this.#log.info({ upstream: name }, 'an upstream is on again')
    }
    this.#logKeys(config, withoutSecret)
    if (descriptorsWanted(plan) > descriptorsWanted(before)) this.#logDescriptors(plan)
    for (const what of this.#health.restart) this.#log.warn({ setting: what }, 'needs a restart to take effect')
  }

  /** Keys whose secret disappeared or came back: their callers are refused without a reason. */
  #logKeys({ keys }: Config, now: ReadonlyMap<string, string>): void {
    const before = this.#unusable
    this.#unusable = now
    for (const [key, reason] of this.#unusable) {
      if (reason !== before.get(key)) this.#log.warn({ key, reason }, 'a key cannot be used')
    }
    for (const key of before.keys()) {
      if (keys[key] !== undefined && !this.#unusable.has(key)) this.#log.info({ key }, 'a key can be used again')
    }
  }

  #renewCertificate(plan: Plan): void {
    const { tls } = plan.listen
    if (tls === undefined || !('setSecureContext' in this.#server)) return
    this.#server.setSecureContext({ cert: tls.cert.content.reveal(), key: tls.key.content.reveal() })
  }

  /** Whose key the request presents. */
  #knows(request: Parameters<typeof authenticate>[0]): Caller | undefined {
    try {
      return authenticate(request, undefined, BEARER, this.plan.keys)
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
    await this.#watch?.close()
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

  /** A rotated secret may have been missed; it is looked for once a generation. */
  #rereadSecrets(): void {
    if (this.#reread === this.#health.generation) return
    this.#reread = this.#health.generation
    this.#log.warn({ generation: this.#reread }, 'an upstream refused its credential; reading the secrets again')
    this.reload().catch((error: Error) => this.#log.error({ error: error.message }, 'reload failed'))
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
    await this.#watch?.close()
    await this.#end()
  }

  async #end(): Promise<void> {
    this.#server.closeAllConnections()
    this.#sockets.terminate()
    // Breaking the connections ends the polls that are under way.
    const tasks = this.#kernel.tasks.stop()
    await this.#pools.destroy()
    await tasks
    await this.#embedded.close()
    await this.#sweeper.stop()
    await this.#kernel.spooler.close()
    await this.#kernel.state.settled()
    await this.#store.close()
    await this.#log.close()
    this.#ended()
  }
}

/** Loads, checks, compiles, listens and watches. Throws {@link ConfigError} or {@link StartError}. */
export async function startGateway(given: StartOptions): Promise<Gateway> {
  const options = { env: process.env, ...given, file: resolve(given.file) }
  const loaded = await loadPlan(options)
  const { plan, config } = loaded
  if (plan === undefined || config === undefined) throw new ConfigError(loaded.problems)
  const state = new StoreState()
  const store = await openStore(plan.store, state)
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

/** Keys none of whose secrets is there, each with the reason. */
function* unusable({ keys }: Config): Steps<ReadonlyMap<string, string>> {
  const reasons = new Map<string, string>()
  for (const name of Object.keys(keys)) {
    const absent = keys[name]?.absent
    if (absent !== undefined) reasons.set(name, absent)
    yield
  }
  return reasons
}

/** A problem as the log has it. */
function briefly({ position, path, message }: Problem): object {
  return { at: `${position.file}:${position.line}:${position.column}`, path, message }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
