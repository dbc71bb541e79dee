import type { Call } from '../../kernel/call.js'
import { slot } from '../../kernel/slot.js'
import type { AttemptView, Outcome } from '../../kernel/stages.js'

/** One attempt on the timeline of its request. Milliseconds since the request arrived; absent: it came never so far. */
export interface Step {
  readonly upstream: string
  readonly model: string
  readonly start: number
  /** A connection was free. */
  readonly placed?: number
  /** The connection was open, and the request began to be sent. */
  readonly sent?: number
  /** The first content of the answer came. */
  readonly answered?: number
  readonly end: number
  readonly phase: string
  readonly status?: number
  /** `responses to chat`: from the client's protocol to the upstream's. */
  readonly translated?: string
}

const BEGAN = slot<number>('console: began')
const STEPS = slot<Step[]>('console: steps')
/** Most attempts of a request that are kept. */
const MAX_STEPS = 32

export function begin(attempt: AttemptView): void {
  attempt.set(BEGAN, performance.now())
}

export function ended(attempt: AttemptView, outcome: Outcome): void {
  const { call, exchange, times } = attempt
  const since = (moment: number | undefined): number | undefined =>
    moment === undefined || moment === 0 ? undefined : round(moment - call.started)
  const { translation } = exchange
  const step: Step = {
    upstream: exchange.upstream.name,
    model: exchange.model,
    start: since(attempt.get(BEGAN)) ?? 0,
    ...optional('placed', since(times?.placed)),
    ...optional('sent', since(times?.sent)),
    ...optional('answered', since(times?.answered)),
    end: round(attempt.ended - call.started),
    phase: outcome.phase,
    ...optional('status', outcome.status),
    ...optional('translated', translation && `${translation.server.protocol} to ${translation.client.protocol}`),
  }
  const steps = call.get(STEPS) ?? []
  if (steps.length < MAX_STEPS) steps.push(step)
  call.set(STEPS, steps)
}

export function stepsOf(call: Call): readonly Step[] {
  return call.get(STEPS) ?? []
}

function optional<Name extends string, T>(name: Name, value: T | undefined): Partial<Record<Name, T>> {
  return value === undefined ? {} : ({ [name]: value } as Record<Name, T>)
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}
