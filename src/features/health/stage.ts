import type { Exchange } from '../../core/plan.js'
import type { Call } from '../../kernel/call.js'
import { slot } from '../../kernel/slot.js'
import type { AttemptView, Outcome, Stage } from '../../kernel/stages.js'
import type { Circuit } from './circuit.js'
import type { Circuits } from './circuits.js'
import { inOrder } from './order.js'
import type { SecretTurns } from './secrets.js'
import { type Fault, verdictOf } from './verdict.js'

/** When an attempt began, where that matters: something has failed lately, or slowness counts. */
const BEGUN = slot<number>('health')
/** The half-open circuits that this call tries. */
const PROBED = slot<readonly Circuit[]>('health probe')

/** An attempt began when all was well. */
const BEFORE = Number.NEGATIVE_INFINITY
/** In place of the moment at which it began: that it was slow has been counted. */
const COUNTED = Number.NaN

const SLOW: Fault = { part: 'model', reason: 'slow', asked: undefined, isLimit: false }

/** Milliseconds since the epoch. */
type Now = () => number

/** Puts what is open behind the others, and learns from how attempts end. */
export function healthStage(circuits: Circuits, secrets: SecretTurns, now: Now): Stage {
  return {
    name: 'health',
    narrow(call, candidates) {
      const chosen = secrets.chosen(candidates, circuits.open === 0 ? 0 : now())
      return circuits.open === 0 ? chosen : ordered(call, chosen, circuits, now())
    },
    beforeAttempt(attempt) {
      if (circuits.size > 0 || attempt.exchange.health?.slow !== undefined) attempt.set(BEGUN, now())
      return undefined
    },
    leaves: attempt => circuits.open > 0 && hasOpened(attempt, circuits),
    onContent(attempt) {
      if (circuits.size > 0 || attempt.exchange.health?.slow !== undefined) answered(attempt, circuits, now())
    },
    onFailure({ call, exchange }, failure, next) {
      const other = exchange.secrets === undefined ? undefined : secrets.next(call, exchange, failure, now())
      const left = other === undefined ? next.left : [other, ...next.left]
      const isWanted = other !== undefined || next.isWanted === true
      if (left.length === 0 || next.isNoted === true) return next
      return { ...next, left: circuits.open === 0 ? left : ordered(call, left, circuits, now()), isWanted }
    },
    afterAttempt(attempt, outcome) {
      ended(attempt, outcome, circuits, now)
      if (circuits.open > 0) release(attempt.call)
    },
    settle(call) {
      if (circuits.open > 0) release(call)
    },
  }
}

/** The candidates with the best first. The call becomes the probe of a half-open one that would be first if it were closed. */
function ordered(call: Call, candidates: readonly Exchange[], circuits: Circuits, now: number): readonly Exchange[] {
  release(call)
  const { order, probed } = inOrder(candidates, circuits, now)
  if (probed.length > 0) {
    for (const circuit of probed) circuit.probe = call
    call.set(PROBED, probed)
  }
  return order
}

/** Whether its upstream has turned out to be unreachable since the attempt began: other attempts have waited long enough. */
function hasOpened(attempt: AttemptView, circuits: Circuits): boolean {
  const { upstream, health } = attempt.exchange
  const standing = health && circuits.ofUpstream(upstream)?.standing
  return standing?.isOpen === true && (attempt.get(BEGUN) ?? BEFORE) < standing.changed
}

function release(call: Call): void {
  const probed = call.get(PROBED)
  if (probed === undefined) return
  for (const circuit of probed) if (circuit.probe === call) circuit.probe = undefined
  call.set(PROBED, undefined)
}

function answered(attempt: AttemptView, circuits: Circuits, now: number): void {
  const { exchange } = attempt
  const { health } = exchange
  const begun = attempt.get(BEGUN)
  if (health === undefined || begun === undefined) return
  if (isSlow(exchange, begun, now)) {
    circuits.failed(exchange, SLOW, now, begun, health)
    attempt.set(BEGUN, COUNTED)
  } else circuits.answered(exchange, now, begun, health)
}

function ended(attempt: AttemptView, outcome: Outcome, circuits: Circuits, clock: Now): void {
  const { exchange } = attempt
  const { health } = exchange
  const verdict = verdictOf(outcome)
  const begun = attempt.get(BEGUN) ?? BEFORE
  if (health === undefined || Number.isNaN(begun)) return
  if (verdict === 'good') {
    if (circuits.size > 0) circuits.succeeded(exchange, clock(), begun, health)
  } else if (verdict !== undefined) failed(exchange, verdict, circuits, clock(), begun)
  else if (outcome.phase === 'cancelled' && attempt.isSent && !outcome.begun) {
    // The client did not wait for it.
    const now = clock()
    if (isSlow(exchange, begun, now)) circuits.failed(exchange, SLOW, now, begun, health)
  }
}

function failed(exchange: Exchange, fault: Fault, circuits: Circuits, now: number, begun: number): void {
  const { health, upstream } = exchange
  if (health === undefined) return
  const isOneOfSeveral = upstream.keeper !== upstream.name
  if (isOneOfSeveral && (fault.part === 'credential' || fault.isLimit)) {
    // Another secret takes its turn, so that one refusal is enough.
    circuits.failed(exchange, { ...fault, part: 'credential' }, now, begun, { ...health, failures: 1 })
  } else circuits.failed(exchange, fault, now, begun, health)
}

function isSlow({ health }: Exchange, begun: number, now: number): boolean {
  return health?.slow !== undefined && begun !== BEFORE && now - begun > health.slow
}
