import type { Exchange } from '../../core/plan.js'
import type { Circuit } from './circuit.js'
import type { Circuits } from './circuits.js'

interface Ordered {
  readonly order: readonly Exchange[]
  /** The half-open circuits of the first one: the call that asks it shows whether they close. */
  readonly probed: readonly Circuit[]
}

interface Behind {
  readonly exchange: Exchange
  /** It cannot be reached at all, so that asking it would cost the most. */
  readonly isUnreachable: boolean
  readonly until: number
}

const NONE: readonly never[] = []

/**
 * Candidates that are closed, or half-open without a probe, in their order; behind them the others, the one first that is to
 * come back first. None is left out: where nothing else is left, one that is open may still answer.
 */
export function inOrder(candidates: readonly Exchange[], circuits: Circuits, now: number): Ordered {
  const front: Exchange[] = []
  const behind: Behind[] = []
  let probed: readonly Circuit[] = NONE
  for (const exchange of candidates) {
    const open = exchange.health === undefined ? NONE : circuits.openOf(exchange)
    if (open.every(one => one.probe === undefined && one.state(now) === 'half_open')) {
      if (front.length === 0) probed = open
      front.push(exchange)
    } else behind.push(standingOf(exchange, open, circuits))
  }
  if (behind.length === 0) return { order: candidates, probed }
  behind.sort((one, other) => Number(one.isUnreachable) - Number(other.isUnreachable) || one.until - other.until)
  return { order: [...front, ...behind.map(({ exchange }) => exchange)], probed }
}

function standingOf(exchange: Exchange, open: readonly Circuit[], circuits: Circuits): Behind {
  return {
    exchange,
    isUnreachable: circuits.ofUpstream(exchange.upstream)?.isOpen === true,
    until: Math.max(...open.map(one => one.standing?.until ?? 0)),
  }
}
