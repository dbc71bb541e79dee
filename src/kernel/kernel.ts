import type { Sink } from '../core/entry.js'
import type { GatewayError } from '../core/errors.js'
import { FairShares } from '../core/fair-shares.js'
import type { HealthChange } from '../core/health.js'
import { ALONE, type Peers } from '../core/peers.js'
import type { Plan } from '../core/plan.js'
import type { Store } from '../core/store.js'
import { Spooler } from '../stores/spool.js'
import type { SealMemory } from '../translate/seals.js'
import type { HttpExchange, HttpRequest } from '../transport/exchange.js'
import { EventLoopShares } from './event-loop-shares.js'
import type { Generation } from './generation.js'
import { InnerExchange, type Serve } from './inner.js'
import { bodyCapacity, capacityOf, FOR_BODIES, Memory } from './memory.js'
import { type CallWatcher, type TaskObserver, unwatched } from './outside-call.js'
import { Records } from './records.js'
import { Services } from './services.js'
import { SlotSet } from './slot-set.js'
import type { TaskEnd, TaskNotes } from './task-end.js'
import { ReasoningCache } from './translate/reasoning-cache.js'
import { Watchdog } from './watchdog.js'

/** Maximum number of WebSockets of a process, sessions and tunnels together. */
const MAX_SOCKETS = 10_000

/** A request in flight, as the process sees it. */
export interface InFlight {
  /** Ends the call because the process ends: streams get their error event. False: it has ended, and waits to be recorded. */
  cut(error: GatewayError): boolean
}

/** Serves requests: the pipeline. */
export interface Server {
  /** Prepares a plan that is about to go live. Throws if it cannot be served. */
  compile(kernel: Kernel, plan: Plan): void
  /** The plan has gone live. */
  adopt(plan: Plan): void
  /** `generation`: absent, that of the kernel. */
  handle(kernel: Kernel, request: HttpExchange, generation?: Generation): void
  /** Reports a task's end to the features that left notes on it. Rejects if it must be reported again. */
  taskEnded(end: Omit<TaskEnd, 'kept'>, values: TaskNotes): Promise<void>
  /** The process ends; the store is still open. */
  close(kernel: Kernel): Promise<void>
}

/** A generation that gets a share of each key's requests, beside the one that serves. */
export interface Trial {
  readonly generation: Generation
  /** Over 0, under 1. */
  readonly share: number
}

/** The state that all requests of a process share. Features provide theirs when they are opened. */
export class Kernel extends Services {
  readonly #server: Server
  /** Serves a request, from a client or from inside the process. */
  readonly serve: Serve = request => {
    if (this.#isAlone) this.#server.handle(this, request)
    else this.choose(request, generation => this.#server.handle(this, request, generation))
  }
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
  readonly records = new Records()
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
  /** Whether no other generation takes new requests. */
  #isAlone = true
  #trial: Trial | undefined
  /** Older ones that stay ready, newest first. */
  #kept: readonly Generation[] = []
  /** Says which generation serves a client's request, where more than one is ready. Never rejects. */
  chooser: ((request: HttpRequest) => Generation | Promise<Generation>) | undefined
  /** Only requests keep them alive. */
  #former: readonly WeakRef<Generation>[] = []
  /** Requests in flight. */
  readonly calls = new SlotSet<InFlight>()
  /** Those whose key has been checked, by key. */
  readonly inFlight: FairShares
  #idle: (() => void)[] = []
  #closed: Promise<void> | undefined
  /** Clients' connections that got one of the last file descriptors: their requests are refused. */
  readonly crowded = new WeakSet<object>()
  /** Looks on at calls that follow from requests. */
  watchCall: CallWatcher = unwatched
  observeTask: TaskObserver = () => undefined
  /** Called when an upstream refuses the gateway's own credential: its secret may have been rotated. */
  onRefusedCredential: (upstream?: string) => void = () => undefined
  /** Called when a stage throws where it must not. */
  onStageFault: (stage: string, hook: string, cause: unknown) => void = () => undefined
  /** Called when an upstream, or a model at it, is moved to the end of the order, or back. */
  onHealthChange: (change: HealthChange) => void = () => undefined
  /** Called with what a feature reports to the operator, for the log. */
  onNotice: (fields: object, message: string, severity?: 'info' | 'warn') => void = () => undefined
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

  get trial(): Trial | undefined {
    return this.#trial
  }

  get kept(): readonly Generation[] {
    return this.#kept
  }

  /** The generation that serves, then those that requests may go to beside it. */
  get ready(): readonly Generation[] {
    return [this.generation, ...(this.#trial === undefined ? [] : [this.#trial.generation]), ...this.#kept]
  }

  /**
   * Calls `use` with the generation that serves a request: at once, or when it is known. If the client has left by then, its call
   * ends as it begins. Requests from inside are served as the one that they are made from.
   */
  choose(request: HttpExchange, use: (generation: Generation) => void): void {
    const chosen = this.#isAlone ? this.#generation : this.#choiceFor(request)
    if (!(chosen instanceof Promise)) {
      use(chosen)
      return
    }
    let isGone = false
    request.onClose = () => {
      isGone = true
    }
    void chosen.then(generation => {
      use(generation.isOpen ? generation : this.#generation)
      if (isGone) request.onClose?.()
    })
  }

  #choiceFor(request: HttpExchange): Generation | Promise<Generation> {
    const { copy, generation } = request instanceof InnerExchange ? request.inside : {}
    if (copy !== undefined) return this.#generation
    if (generation?.isOpen === true) return generation
    return this.chooser?.(request) ?? this.#generation
  }

  /** A prepared generation gets a share of the requests from now on, in place of another one that does. */
  try(generation: Generation, share: number): void {
    this.endTrial()
    this.#trial = { generation, share }
    this.#count()
  }

  /** What is tried gets no more requests. Those in flight finish on it. */
  endTrial(): void {
    const tried = this.#trial?.generation
    this.#trial = undefined
    this.#count()
    if (tried === undefined) return
    this.#former = [tried, ...this.former].map(one => new WeakRef(one))
    tried.retire()
  }

  #count(): void {
    this.#isAlone = this.#trial === undefined && this.#kept.length === 0
  }

  /** Does the part of {@link swap} that may fail. Throws if the plan cannot be served. */
  prepare(next: Generation): void {
    this.#server.compile(this, next.plan)
  }

  /** Serves new requests from a prepared generation; those in flight finish on the one that they leased. */
  swap(next: Generation): void {
    const last = this.#generation
    if (this.#trial?.generation === next) this.#trial = undefined
    this.endTrial()
    this.#generation = next
    this.inFlight.total = next.plan.limits.in_flight
    const capacity = capacityOf(next.plan.limits.memory)
    this.memory.requests.resize(capacity)
    this.memory.answers.resize(capacity)
    this.memory.bodies.resize(this.bodyCapacity())
    const keep = next.plan.reload?.keep ?? 0
    const older = [last, ...this.#kept]
    this.#kept = older.slice(0, keep)
    this.#count()
    this.#server.adopt(next.plan)
    const left = older.slice(keep)
    this.#former = [...left, ...this.former].map(one => new WeakRef(one))
    for (const one of left) one.retire()
  }

  async taskEnded(end: Omit<TaskEnd, 'kept'>, values: TaskNotes): Promise<void> {
    await this.#server.taskEnded(end, values)
  }

  /**
   * Called when nothing is in flight: features write what they still hold to the store. They do so once: a second signal ends the
   * process while the drain of the first one ends, too.
   */
  close(): Promise<void> {
    this.#closed ??= this.records.done().then(() => this.#server.close(this))
    return this.#closed
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
