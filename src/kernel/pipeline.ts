import { atMost } from '../core/at-most.js'
import type { Caller } from '../core/caller.js'
import { outOfDescriptors } from '../core/descriptors.js'
import type { Family } from '../core/errors.js'
import type { Match, Miss, Plan, Route } from '../core/plan.js'
import { unrouted } from '../core/refusals.js'
import type { HttpExchange, HttpRequest } from '../transport/exchange.js'
import type { Arrival } from './arrival.js'
import { Call } from './call.js'
import { advance, type Chain, chainOf, compileChain, keepBody, type OpenFeature, type OwnSteps } from './chain.js'
import { Dispatch } from './dispatch.js'
import type { Generation } from './generation.js'
import { checkHead } from './heads.js'
import type { Kernel, Server } from './kernel.js'
import { readRequest } from './read-request.js'
import { resolve } from './resolve.js'
import type { Feature, Maybe, Service } from './stages.js'
import type { TaskEnd, TaskNotes } from './task-end.js'
import { logArrival, logCandidates } from './trail.js'

/**
 * The path of a request. It knows no feature: it runs the chain of the request's route, which is compiled from the
 * features' stages for that route, with the pipeline's own steps between them.
 */
export class Pipeline implements Server {
  readonly #features: readonly Feature[]
  #open: readonly OpenFeature[] | undefined
  /** By plan and route; undefined is for paths that no route serves. */
  readonly #chains = new WeakMap<Plan, ReadonlyMap<Route | undefined, Chain>>()

  /** The order of `features` is the order of their stages in every phase. */
  constructor(features: readonly Feature[]) {
    this.#features = features
  }

  /**
   * Compiles the chains of a plan that is about to go live. Throws if features exclude each other. The first call opens
   * the features: a pipeline is for one kernel.
   */
  compile(kernel: Kernel, plan: Plan): void {
    this.#open ??= this.#features.map(feature => ({ feature, service: feature.open?.(kernel) ?? NO_SERVICE }))
    const open = this.#open
    const chains = new Map<Route | undefined, Chain>()
    for (const route of [undefined, ...plan.routes]) {
      chains.set(route, compileChain(open, { kernel, plan, route }, OWN_STEPS))
    }
    this.#chains.set(plan, chains)
  }

  adopt(plan: Plan): void {
    for (const { service } of this.#open ?? []) service.adopt?.(plan)
  }

  async taskEnded(end: Omit<TaskEnd, 'kept'>, values: TaskNotes): Promise<void> {
    for (const { feature, service } of this.#open ?? []) {
      const kept = values[feature.name]
      if (kept !== undefined) await service.onTaskEnd?.({ ...end, kept })
    }
  }

  /** Closes the features, last one first. Faults are reported; all features together have `MAX_CLOSE_MS`. */
  async close(kernel: Kernel): Promise<void> {
    const closed = (this.#open ?? []).toReversed().map(async ({ feature, service }) => {
      await Promise.resolve(service.close?.()).catch(cause => kernel.onStageFault(feature.name, 'close', cause))
    })
    await atMost(MAX_CLOSE_MS, Promise.all(closed))
  }

  /** A feature's service in this process; undefined if the feature is not in the list, or has none. */
  serviceOf<S extends Service>(feature: Feature<S>): S | undefined {
    return this.#open?.find(one => one.feature === (feature as Feature))?.service as S | undefined
  }

  /** The chain of a route of a plan in service; without a route, that of paths which no route serves. */
  chainOf(plan: Plan, route: Route | undefined): Chain {
    const chain = this.#chains.get(plan)?.get(route)
    if (chain === undefined) throw new Error('the plan is not in service')
    return chain
  }

  /** The caller, by the stages of the route; undefined where none is needed. Throws or rejects with the refusal. */
  identify(arrival: Arrival): Maybe<Caller | undefined> {
    return this.chainOf(arrival.generation.plan, arrival.route).identify(arrival)
  }

  handle(kernel: Kernel, request: HttpExchange, generation?: Generation): void {
    advance(this.arrive(kernel, request, request.method, generation))
  }

  /** A new call with its route and chain; {@link advance} runs them. */
  arrive(kernel: Kernel, request: HttpExchange, method: string, generation?: Generation): Call {
    const call = new Call(kernel, request, generation)
    const { plan } = call.generation
    const match = plan.match(method, call.path, request.headers)
    call.matched(match, familyOf(request, match), this.chainOf(plan, match.route))
    return call
  }
}

const NO_SERVICE: Service = Object.freeze({})

/** How long all features together may take to close, milliseconds. */
const MAX_CLOSE_MS = 5000

const OWN_STEPS: OwnSteps = {
  begin(call) {
    const { kernel, request, generation } = call
    if (kernel.sink.debugs) logArrival(call)
    checkHead(request, generation.plan.limits)
    if (kernel.crowded.has(request.connection)) throw outOfDescriptors()
  },
  match(call) {
    const { match, request } = call
    if (match.route === undefined) throw unrouted(match, request.method, call.path)
  },
  readBody(call) {
    return keepBody(call, readRequest(call, routeOf(call)))
  },
  resolve(call) {
    call.candidates = resolve(call, routeOf(call))
  },
  dispatch(call) {
    if (call.kernel.sink.debugs) logCandidates(call, call.candidates)
    new Dispatch(call, routeOf(call), call.body, call.candidates, failure =>
      chainOf(call).onExhausted.some(answers => answers(call, failure, call.body)),
    ).start()
  },
}

/** The route's family, unless a header shows that the client is of another family that the route serves, too. */
function familyOf({ headers }: HttpRequest, matched: Match | Miss): Family {
  const { errors, families } = matched.route ?? (matched as Miss)
  return families.find(({ header }) => headers[header] !== undefined)?.family ?? errors
}

function routeOf({ route }: Call): Route {
  if (route === undefined) throw new Error('only calls of a route come here')
  return route
}
