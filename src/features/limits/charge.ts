import type { AmountPaths, Demand } from '../../core/amounts.js'
import type { Price } from '../../core/bounds.js'
import { costOf, tokensOf, type Units, unitsOf } from '../../core/cost.js'
import type { Usage } from '../../core/plan.js'
import { otherUnits, type Worst, writesText } from '../../core/worst.js'
import type { Outcome } from '../../kernel/stages.js'
import { BYTES_PER_TOKEN } from '../../wire/demand.js'

/** Bytes of an event of a stream around its text. */
const EVENT_BYTES = 220
/** Bytes of a whole answer around its text. */
const ANSWER_BYTES = 400
/** What sound most likely lasts of what its bytes may last: 32 kbit/s. */
const LIKELY_SOUND = 1 / 4

/** What an attempt used. */
export interface Used {
  readonly units: Units
  readonly tokens: number
  readonly cost: number
  readonly isEstimated: boolean
}

const NOTHING: Used = { units: {}, tokens: 0, cost: 0, isEstimated: false }

/** What is known of an attempt that has ended. */
interface Ended {
  readonly demand: Demand
  readonly worst: Worst
  readonly paths: AmountPaths | undefined
  readonly price: Price | undefined
  readonly usage: Usage | undefined
  readonly isSent: boolean
  readonly outcome: Outcome
  /** Pictures of the request that other calls for it made. */
  readonly elsewhere: number
}

/**
 * What is charged: the upstream's own count, whatever became of the attempt. Without one a failed attempt costs nothing, an
 * answer is counted here, and of one that was given up what was delivered; of that never more than was reserved. An upstream
 * that was given up before it answered has read the input.
 */
export function usedBy(ended: Ended): Used {
  const { demand, paths, price, usage, isSent, outcome, worst, elsewhere } = ended
  if (!isSent || paths?.free === true) return NOTHING
  const isAnswered = outcome.phase === 'ok' || outcome.begun
  if (usage === undefined && !isAnswered && outcome.phase !== 'cancelled') return NOTHING
  const images = Math.max(Math.min(1, demand.images), demand.images - elsewhere)
  const likely = { ...demand, heard: Math.ceil(demand.heard * LIKELY_SOUND) }
  const others = isAnswered ? otherUnits(likely, price, images) : {}
  if (usage !== undefined) {
    const units = Object.assign(others, unitsOf(usage, price))
    return { units, tokens: tokensOf(usage), cost: costOf(units, price), isEstimated: false }
  }
  const input = Math.min(demand.likelyInput, worst.input)
  const output = isAnswered && writesText(paths) ? Math.min(deliveredTokens(outcome), worst.output) : 0
  const units = { ...others, ...(input > 0 && { input }), ...(output > 0 && { output }) }
  const isCounted = price === undefined || hasTokens(price) || 'audio_second' in others
  const cost = Math.min(costOf(units, price), worst.cost)
  return { units, tokens: input + output, cost, isEstimated: isCounted }
}

function deliveredTokens({ bytes, events }: Outcome): number {
  const around = events === 0 ? ANSWER_BYTES : events * EVENT_BYTES
  return Math.max(events, Math.ceil(Math.max(0, bytes - around) / BYTES_PER_TOKEN))
}

function hasTokens({ input, output }: Price): boolean {
  return input !== undefined || output !== undefined
}
