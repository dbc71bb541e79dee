import { FEATURES } from '../../src/features/index.js'
import type { AttemptView, Feature, Outcome, Stage } from '../../src/kernel/stages.js'
import { Journal } from './journal.js'

/** What a stage heard of one attempt, in one object. */
export interface Metered extends Pick<Outcome, 'phase' | 'status' | 'begun' | 'bytes' | 'events'> {
  readonly upstream: string
  readonly number: number
  readonly isSent: boolean
  readonly total: number | undefined
  readonly input: number | undefined
  readonly output: number | undefined
  readonly error: string | undefined
  readonly task: string | undefined
}

/** A feature with one stage for the routes on which upstreams are asked, after the check of keys. */
export function withStage(stage: Stage): readonly Feature[] {
  const own: Feature = { name: stage.name, compile: ({ route }) => (route?.caller === undefined ? undefined : stage) }
  return withFeature(own)
}

export function withFeature(own: Feature): readonly Feature[] {
  const at = FEATURES.findIndex(({ name }) => name === 'keys') + 1
  return [...FEATURES.slice(0, at), own, ...FEATURES.slice(at)]
}

interface Meter {
  readonly stage: Stage
  readonly ended: Journal<Metered>
  /** Ids of calls. */
  readonly settled: Journal<string>
  readonly order: string[]
}

/** A stage that notes each attempt, and when the end of its answer and of its call came. */
export function meter(): Meter {
  const ended = new Journal<Metered>('attempts')
  const settled = new Journal<string>('settled calls')
  const order: string[] = []
  const stage: Stage = {
    name: 'meter',
    beforeAttempt: ({ number }) => void order.push(`before ${number}`),
    afterAttempt(attempt, outcome) {
      order.push(`after ${attempt.number}`)
      ended.push(meteredOf(attempt, outcome))
    },
    beforeEnd: () => void order.push('end'),
    settle(call) {
      order.push('settle')
      settled.push(call.id)
    },
  }
  return { stage, ended, settled, order }
}

function meteredOf({ exchange, number, isSent, usage }: AttemptView, outcome: Outcome): Metered {
  const { phase, status, error, task, begun, bytes, events } = outcome
  const { total, input, output } = usage ?? {}
  const upstream = exchange.upstream.name
  return {
    upstream,
    number,
    isSent,
    phase,
    status,
    begun,
    bytes,
    events,
    total,
    input,
    output,
    error: error?.code,
    task,
  }
}
