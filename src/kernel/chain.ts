import type { Caller } from '../core/caller.js'
import { type Phase, phasesOf } from '../core/phases.js'
import type { Exchange } from '../core/plan.js'
import { unauthenticated } from '../core/refusals.js'
import type { Arrival } from './arrival.js'
import type { Body } from './body.js'
import type { Call, CallHooks } from './call.js'
import { type Feature, type Maybe, NO_KEY, type Service, type Site, type Stage } from './stages.js'

/** One step of a request. A promise parks the request until it settles. */
type Step = (call: Call) => Maybe<void>

type Identify = (arrival: Arrival) => Maybe<Caller | undefined>

type Hook<K extends keyof Stage> = readonly NonNullable<Stage[K]>[]

/** The stages of one route, as flat lists of functions. Lists that no stage is in are one empty array. */
export interface Chain extends CallHooks {
  readonly steps: readonly Step[]
  /** The caller; undefined: none is needed. Throws or rejects where there is none that counts. */
  readonly identify: Identify
  readonly pairs: readonly Pick<Stage, 'beforeAttempt' | 'beforeSend' | 'afterAttempt' | 'recordAttempt'>[]
  /** Whether some of these record attempts. */
  readonly recordsAttempts: boolean
  readonly isKey: Hook<'isKey'>
  readonly onMembers: Hook<'onMembers'>
  readonly leaves: Hook<'leaves'>
  readonly inspects: Hook<'inspects'>
  readonly patience: Hook<'patience'>
  readonly onContent: Hook<'onContent'>
  readonly onUsage: Hook<'onUsage'>
  readonly onUpstreamRequest: Hook<'onUpstreamRequest'>
  readonly onUpstreamBody: Hook<'onUpstreamBody'>
  readonly watches: Hook<'watches'>
  readonly relay: Hook<'relay'>
  readonly reads: Hook<'reads'>
  readonly observe: Hook<'observe'>
  readonly onFailure: Hook<'onFailure'>
  readonly onExhausted: Hook<'onExhausted'>
  /** Headers that stages add to answers, as a list of names; empty where none is. */
  readonly exposes: string
  /** By phase: the names of the stages that take part in it, in the order in which they run. */
  readonly names: ReadonlyMap<string, readonly string[]>
}

/** The steps of the pipeline itself, between those of the features. */
export interface OwnSteps {
  /** Before all features. */
  readonly begin: Step
  /** The caller is known: the path has to be one that is served. */
  readonly match: Step
  readonly readBody: Step
  readonly resolve: Step
  readonly dispatch: Step
}

/** The chain of a call: the pipeline gives each call a whole one. */
export function chainOf(call: Call): Chain {
  return call.chain as Chain
}

const NONE: readonly never[] = Object.freeze([])

/** A feature, and what of it lives as long as the process. */
export interface OpenFeature {
  readonly feature: Feature
  readonly service: Service
}

/** Compiles the chain of a route: pure, without input or output. Throws where two features want the same place. */
export function compileChain(features: readonly OpenFeature[], site: Site, own: OwnSteps): Chain {
  const stages = features.flatMap(({ feature, service }) => feature.compile(site, service) ?? [])
  const names = new Map<string, readonly string[]>()
  const those = <K extends keyof Stage>(hook: K): readonly Stage[] => {
    const found = stages.filter(stage => stage[hook] !== undefined)
    if (found.length > 0)
      names.set(
        hook,
        found.map(({ name }) => name),
      )
    return found
  }
  const list = <K extends keyof Stage>(hook: K): Hook<K> => {
    const found = those(hook).map(stage => bound(stage, hook, site))
    return found.length === 0 ? NONE : found
  }
  const steps = stepsOf(site, list, own)
  for (const hook of ['beforeAttempt', 'beforeSend', 'afterAttempt', 'recordAttempt'] as const) those(hook)
  return {
    steps,
    identify: identifying(list('identify')),
    pairs: gatesOf(stages, site),
    recordsAttempts: stages.some(({ recordAttempt }) => recordAttempt !== undefined),
    onUpstreamRequest: list('onUpstreamRequest'),
    onUpstreamBody: list('onUpstreamBody'),
    watches: list('watches'),
    relay: list('relay'),
    reads: list('reads'),
    observe: list('observe'),
    isKey: list('isKey'),
    onMembers: list('onMembers'),
    leaves: list('leaves'),
    inspects: list('inspects'),
    patience: list('patience'),
    onContent: list('onContent'),
    onUsage: list('onUsage'),
    onFailure: list('onFailure'),
    onExhausted: list('onExhausted'),
    onAnswerHead: list('onAnswerHead'),
    beforeEnd: list('beforeEnd'),
    settle: list('settle').toReversed(),
    record: list('record'),
    exposes: [...new Set(stages.flatMap(({ exposes }) => exposes ?? []))].join(', '),
    names,
  }
}

/** The stages that admit attempts, or hear of their end. */
function gatesOf(stages: readonly Stage[], site: Site): Chain['pairs'] {
  const gates = stages.filter(stage => (stage.beforeAttempt ?? stage.afterAttempt ?? stage.recordAttempt) !== undefined)
  if (gates.length === 0) return NONE
  return gates.map(stage => ({
    beforeAttempt: bound(stage, 'beforeAttempt', site),
    beforeSend: bound(stage, 'beforeSend', site),
    afterAttempt: bound(stage, 'afterAttempt', site),
    recordAttempt: bound(stage, 'recordAttempt', site),
  }))
}

/** Hooks on which the answer, or what other stages give back, depends: a fault of one stage in them stops nothing else. */
const GUARDED: ReadonlySet<keyof Stage> = new Set([
  'onContent',
  'onUsage',
  'afterAttempt',
  'recordAttempt',
  'onAnswerHead',
  'settle',
  'record',
])

function bound<K extends keyof Stage>(stage: Stage, hook: K, { kernel }: Site): NonNullable<Stage[K]> {
  const member = stage[hook] as ((...given: readonly unknown[]) => unknown) | undefined
  if (typeof member !== 'function' || !GUARDED.has(hook)) {
    return (typeof member === 'function' ? member.bind(stage) : member) as NonNullable<Stage[K]>
  }
  const guarded = (...given: readonly unknown[]): void => {
    try {
      member.apply(stage, given as unknown[])
    } catch (cause) {
      kernel.onStageFault(stage.name, hook, cause)
    }
  }
  return guarded as NonNullable<Stage[K]>
}

/** The first stage that knows the caller decides. */
function identifying(stages: Hook<'identify'>): Identify {
  const accept = (arrival: Arrival, at: number): ReturnType<Identify> => {
    const identify = stages[at]
    if (identify === undefined) throw unauthenticated([], 'no key')
    const found = identify(arrival)
    return found instanceof Promise ? found.then(one => decide(arrival, at, one)) : decide(arrival, at, found)
  }
  const decide = (
    arrival: Arrival,
    at: number,
    found: Awaited<ReturnType<(typeof stages)[number]>>,
  ): ReturnType<Identify> => {
    if (found === undefined) return accept(arrival, at + 1)
    return found === NO_KEY ? undefined : found
  }
  return arrival => accept(arrival, 0)
}

/** The steps of a route's requests, in the order of {@link phasesOf}. */
function stepsOf(site: Site, list: <K extends keyof Stage>(hook: K) => Hook<K>, own: OwnSteps): readonly Step[] {
  const [onRequest, identify, admit] = [list('onRequest'), list('identify'), list('admit')]
  const [sources, serves] = [list('source'), list('serve')]
  if (sources.length > 1 || serves.length > 1) throw new Error(`two features serve ${site.route?.id}`)
  const [source] = sources
  const [serve] = serves
  const steps: Record<Phase, () => readonly Step[]> = {
    begin: () => [own.begin],
    onRequest: () => onRequest,
    identify: () => {
      const find = identifying(identify)
      return [call => keepCaller(call, find(call))]
    },
    admit: () => admit,
    match: () => [own.match],
    readBody: () => [own.readBody],
    onBody: () => list('onBody').map(onBody => call => keepBody(call, onBody(call, call.body))),
    source: () => [source === undefined ? own.resolve : call => keepCandidates(call, source(call))],
    narrow: () => list('narrow').map(narrow => call => keepCandidates(call, narrow(call, call.candidates, call.body))),
    serve: () => [serve === undefined ? own.dispatch : call => serve(call, call.candidates, call.body)],
  }
  return phasesOf(site.route, serve !== undefined).flatMap(phase => steps[phase]())
}

function keepCaller(call: Call, caller: Maybe<Caller | undefined>): Maybe<void> {
  if (caller instanceof Promise) return caller.then(kept => keepCaller(call, kept))
  call.caller = caller
}

/** Takes the body for the stages that follow. */
export function keepBody(call: Call, body: Maybe<Body>): Maybe<void> {
  if (body instanceof Promise) return body.then(kept => keepBody(call, kept))
  call.body = body
}

function keepCandidates(call: Call, candidates: Maybe<readonly Exchange[]>): Maybe<void> {
  if (candidates instanceof Promise) return candidates.then(kept => keepCandidates(call, kept))
  call.candidates = candidates
}

/** Runs the steps of a call from one on. Ends where a step answers, fails, or the call is over. */
export function advance(call: Call, from = 0): void {
  const { steps } = chainOf(call)
  for (let at = from; at < steps.length; at++) {
    let parked: Maybe<void>
    try {
      parked = steps[at]?.(call)
    } catch (cause) {
      call.fail(cause)
      return
    }
    if (parked !== undefined) {
      parked.then(
        () => {
          if (!call.answered) advance(call, at + 1)
        },
        (cause: unknown) => call.fail(cause),
      )
      return
    }
    if (call.answered) return
  }
}
