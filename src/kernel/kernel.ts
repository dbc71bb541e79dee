import type { Sink } from '../core/entry.js'
import type { GatewayError } from '../core/errors.js'
import { FairShares } from '../core/fair-shares.js'
import type { HealthChange } from '../core/health.js'
import { ALONE, type Peers } from '../core/peers.js'
import type { Plan } from '../core/plan.js'
import type { Store } from '../core/store.js'
import { Spooler } from '../stores/spool.js'
import type { SealMemory } from '../translate/seals.js'
import type { HttpExchange } from '../transport/exchange.js'
import { EventLoopShares } from './event-loop-shares.js'
import type { Generation } from './generation.js'
import type { Serve } from './inner.js'
import { bodyCapacity, capacityOf, FOR_BODIES, Memory } from './memory.js'
import { type CallWatcher, unwatched } from './outside-call.js'
import { Services } from './services.js'
import { SlotSet } from './slot-set.js'
import type { TaskEnd, TaskNotes } from './task-end.js'
import { ReasoningCache } from './translate/reasoning-cache.js'
import { Watchdog } from './watchdog.js'

/** Maximum number of WebSockets of a process, sessions and tunnels together. */
const MAX_SOCKETS = 10_000

/** A request in flight, as the process sees it. */
export interface InFlight {
  /** Ends the call because the process ends: streams get their error event. */
  cut(error: GatewayError): void
}

/** Serves requests: the pipeline. */
export interface Server {
  /** Prepares a plan that is about to go live. Throws if it cannot be served. */
  compile(kernel: Kernel, plan: Plan): void
  /** The plan has gone live. */
  adopt(plan: Plan): void
  handle(kernel: Kernel, request: HttpExchange): void
  /** Reports a task's end to the features that left notes on it. Rejects if it must be reported again. */
  taskEnded(end: Omit<TaskEnd, 'kept'>, values: TaskNotes): Promise<void>
  /** The process ends; the store is still open. */
  close(kernel: Kernel): Promise<void>
}

/** The state that all requests of a process share. Features provide theirs when they are opened. */
export class Kernel extends Services {
  readonly #server: Server
  /** Serves a request, from a client or from inside the process. */
  readonly serve: Serve = request => this.#server.handle(this, request)
  /** Serves a client's request: now, or when its turn comes. If the client has left by then, it ends as it begins, and is logged. */
  readonly arrive = (exchange: HttpExchange): void => {
    let isGone = false
    exchange.onClose = () => {
      isGone = true
    }
    this.turns.arrive(() => {
      this.serve(exchange)
      if (isGone) exchange.onClose?.()
    })
  }
  readonly watchdog = new Watchdog()
  /** Queues answers that arrive faster than they can be processed. */
  readonly turns = new EventLoopShares()
  readonly sink: Sink
  /** Where everything is kept that outlives a request. */
  readonly store: Store
  /** The other workers of this gateway. */
  readonly peers: Peers
  /** Stores bodies that are read before they are sent. */
  readonly spooler: Spooler
  /** Shares of clients' open WebSockets. */
  readonly sockets = new FairShares(MAX_SOCKETS)
  /** Stores seals that clients cannot send back. */
  readonly sealMemory: SealMemory
  /**
   * Heap for the objects of requests and answers that are translated, and memory for large bodies. They are separate, so that no
   * answer waits for requests that wait for it; a body's memory is reserved before that for its objects.
   */
  readonly memory: { readonly requests: Memory; readonly answers: Memory; readonly bodies: Memory }
  #generation: Generation
  /** Only requests keep them alive. */
  #former: readonly WeakRef<Generation>[] = []
  /** Requests in flight. */
  readonly calls = new SlotSet<InFlight>()
  /** Those whose key has been checked, by key. */
  readonly inFlight: FairShares
  #idle: (() => void)[] = []
  /** Clients' connections that got one of the last file descriptors: their requests are refused. */
  readonly crowded = new WeakSet<object>()
  /** Looks on at calls that follow from requests. */
  watchCall: CallWatcher = unwatched
  /** Called when an upstream refuses the gateway's own credential: its secret may have been rotated. */
  onRefusedCredential: () => void = () => undefined
  /** Called when a stage throws where it must not. */
  onStageFault: (stage: string, hook: string, cause: unknown) => void = () => undefined
  /** Called when an upstream, or a model at it, is moved to the end of the order, or back. */
  onHealthChange: (change: HealthChange) => void = () => undefined
  /** Called with what a feature reports to the operator, for the log. */
  onNotice: (fields: object, message: string) => void = () => undefined
  /** Called when something could not be stored. */
  onStoreFault: (error: unknown) => void = () => undefined
  /** Set while the process drains: responses then ask clients to close their connections. */
  draining = false

  constructor(generation: Generation, sink: Sink, store: Store, server: Server, peers: Peers = ALONE) {
    super()
    this.#generation = generation
    this.#server = server
    this.sink = sink
    this.store = store
    this.peers = peers
    this.inFlight = new FairShares(generation.plan.limits.in_flight)
    const { path, body, memory, disk } = generation.plan.spool
    this.spooler = new Spooler({ folder: path, body, memory, disk })
    const capacity = capacityOf(generation.plan.limits.memory)
    const bodies = new Memory(this.bodyCapacity(), FOR_BODIES)
    this.memory = { requests: new Memory(capacity), answers: new Memory(capacity), bodies }
    this.sealMemory = new ReasoningCache(store)
    server.compile(this, generation.plan)
  }

  private bodyCapacity(): number {
    const { body_memory, body } = this.generation.plan.limits
    return bodyCapacity(body_memory, body)
  }

  /** Former generations that requests in flight still hold, newest first. */
  get former(): readonly Generation[] {
    return this.#former.flatMap(one => one.deref() ?? []).filter(one => one.leases > 0)
  }

  get generation(): Generation {
    return this.#generation
  }

  /** Does the part of {@link swap} that may fail. Throws if the plan cannot be served. */
  prepare(next: Generation): void {
    this.#server.compile(this, next.plan)
  }

  /** Serves new requests from a prepared generation; those in flight finish on the one that they leased. */
  swap(next: Generation): void {
    const last = this.#generation
    this.#generation = next
    this.inFlight.total = next.plan.limits.in_flight
    const capacity = capacityOf(next.plan.limits.memory)
    this.memory.requests.resize(capacity)
    this.memory.answers.resize(capacity)
    this.memory.bodies.resize(this.bodyCapacity())
    this.#server.adopt(next.plan)
    this.#former = [last, ...this.former].map(one => new WeakRef(one))
    last.retire()
  }

  async taskEnded(end: Omit<TaskEnd, 'kept'>, values: TaskNotes): Promise<void> {
    await this.#server.taskEnded(end, values)
  }

  /** Called when nothing is in flight: features write what they still hold to the store. */
  async close(): Promise<void> {
    await this.#server.close(this)
  }

  /** Returns the call's place, to be used once by {@link leave}. */
  enter(call: InFlight): number {
    return this.calls.add(call)
  }

  leave(place: number): void {
    this.calls.delete(place)
    if (this.calls.size > 0 || this.#idle.length === 0) return
    const waiting = this.#idle
    this.#idle = []
    for (const resolve of waiting) resolve()
  }

  /** Resolves when no request is in flight. */
  async idle(): Promise<void> {
    if (this.calls.size === 0) return
    await new Promise<void>(resolve => this.#idle.push(resolve))
  }
}
