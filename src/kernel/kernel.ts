import type { Sink } from '../core/entry.js'
import type { GatewayError } from '../core/errors.js'
import { FairShares } from '../core/fair-shares.js'
import type { Limits } from '../core/limits.js'
import type { Plan } from '../core/plan.js'
import type { Store } from '../core/store.js'
import { Spooler } from '../stores/spool.js'
import type { SealMemory } from '../translate/seals.js'
import type { HttpExchange } from '../transport/exchange.js'
import { EventLoopShares } from './event-loop-shares.js'
import type { Generation } from './generation.js'
import type { Serve } from './inner.js'
import { Callers } from './keys/callers.js'
import { bodyCapacity, capacityOf, FOR_BODIES, Memory } from './memory.js'
import { ModelLists } from './model-lists.js'
import { STATE_BOUNDS, type StateBounds } from './responses/bounds.js'
import { State } from './responses/state.js'
import { SlotSet } from './slot-set.js'
import type { TaskEnd, TaskNotes } from './task-end.js'
import { Tasks } from './tasks/tasks.js'
import { Tunnels } from './tunnel/tunnels.js'
import { Watchdog } from './watchdog.js'

/** Maximum number of WebSockets of a process, sessions and tunnels together. */
const MAX_SOCKETS = 10_000

/** What the process can do with a request in flight. */
export interface InFlight {
  /** Ends the call before its time, because the process ends: streams get their error event. */
  cut(error: GatewayError): void
}

/** What serves requests: the pipeline. */
export interface Server {
  /** Prepares a plan that is about to go live. Throws where it cannot be served. */
  compile(kernel: Kernel, plan: Plan): void
  /** The plan has gone live. */
  adopt(plan: Plan): void
  handle(kernel: Kernel, request: HttpExchange): void
  /** Reports a task's end to the features that keep something with it. Rejects if it must be reported again. */
  taskEnded(end: Omit<TaskEnd, 'kept'>, values: TaskNotes): Promise<void>
  /** The process ends; the store is still open. */
  close(kernel: Kernel): Promise<void>
}

/** What all requests of a process share. */
export class Kernel {
  readonly #server: Server
  /** Serves a request, one from inside the process included. */
  readonly serve: Serve = request => this.#server.handle(this, request)
  readonly watchdog = new Watchdog()
  /** Answers that come faster than they can be worked on. */
  readonly turns = new EventLoopShares()
  readonly sink: Sink
  /** What outlives a request. */
  readonly store: Store
  readonly state: State
  /** Who calls, by the keys that requests present. */
  readonly callers: Callers
  readonly tasks: Tasks
  /** Holds bodies that are read before they are sent on. */
  readonly spooler: Spooler
  /** WebSockets that clients have open. */
  readonly sockets = new FairShares(MAX_SOCKETS)
  /** What upstreams said of the models that they have. */
  readonly modelLists = new ModelLists()
  readonly tunnels = new Tunnels(this.sockets)
  /**
   * Heap for the objects of requests and answers that are translated, and memory for large bodies. Apart, so that no answer
   * waits for requests that wait for it; room for a body is taken before that for its objects.
   */
  readonly memory: { readonly requests: Memory; readonly answers: Memory; readonly bodies: Memory }
  #generation: Generation
  /** Requests hold them, and nothing else does. */
  #former: readonly WeakRef<Generation>[] = []
  /** Requests in flight. */
  readonly calls = new SlotSet<InFlight>()
  /** Those whose key has been checked, by key. */
  readonly inFlight: FairShares
  #idle: (() => void)[] = []
  /** Clients' connections that took one of the last file descriptors: what they ask for is refused. */
  readonly crowded = new WeakSet<object>()
  /** Called when an upstream refuses the gateway's own credential: its secret may have been rotated. */
  onRefusedCredential: () => void = () => undefined
  /** Called when a stage throws where it must not. */
  onStageFault: (stage: string, hook: string, cause: unknown) => void = () => undefined
  /** Called when something could not be stored. */
  onStoreFault: (error: unknown) => void = () => undefined
  /** Set while the process drains: responses then ask clients to close their connections. */
  draining = false

  constructor(generation: Generation, sink: Sink, store: Store, server: Server) {
    this.#generation = generation
    this.#server = server
    this.sink = sink
    this.store = store
    this.inFlight = new FairShares(generation.plan.limits.in_flight)
    const { path, body, memory, disk } = generation.plan.spool
    this.spooler = new Spooler({ folder: path, body, memory, disk })
    const capacity = capacityOf(generation.plan.limits.memory)
    const bodies = new Memory(this.bodyCapacity(), FOR_BODIES)
    this.memory = { requests: new Memory(capacity), answers: new Memory(capacity), bodies }
    this.state = new State(store, this.stateBounds(), error => this.onStoreFault(error))
    this.callers = new Callers(store, error => this.onStoreFault(error))
    this.tasks = new Tasks(this)
    server.compile(this, generation.plan)
  }

  private bodyCapacity(): number {
    const { body_memory, body } = this.generation.plan.limits
    return bodyCapacity(body_memory, body)
  }

  /** Those of the plan follow its reloads. */
  private stateBounds(): StateBounds {
    const limits = (): Limits => this.generation.plan.limits
    return {
      ...STATE_BOUNDS,
      get items() {
        return limits().conversation_items
      },
    }
  }

  /** Where seals wait that clients cannot send back. */
  get sealMemory(): SealMemory {
    return this.state.reasoningCache
  }

  /** Those before it that requests in flight still hold, the newest first. */
  get former(): readonly Generation[] {
    return this.#former.flatMap(one => one.deref() ?? []).filter(one => one.leases > 0)
  }

  get generation(): Generation {
    return this.#generation
  }

  /** Serves new requests from `next`; those in flight finish on the generation that they leased. */
  swap(next: Generation): void {
    this.#server.compile(this, next.plan)
    const last = this.#generation
    this.#generation = next
    this.inFlight.total = next.plan.limits.in_flight
    const capacity = capacityOf(next.plan.limits.memory)
    this.memory.requests.resize(capacity)
    this.memory.answers.resize(capacity)
    this.memory.bodies.resize(this.bodyCapacity())
    this.tasks.adopt(next.plan)
    this.#server.adopt(next.plan)
    this.#former = [last, ...this.former].map(one => new WeakRef(one))
    last.retire()
  }

  async taskEnded(end: Omit<TaskEnd, 'kept'>, values: TaskNotes): Promise<void> {
    await this.#server.taskEnded(end, values)
  }

  /** Nothing is in flight any more: what features still hold goes to the store. */
  async close(): Promise<void> {
    await this.#server.close(this)
  }

  /** Gives the place by which it is to leave, once. */
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
