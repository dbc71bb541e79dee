import type { AmountPaths, Demand } from '../../core/amounts.js'
import type { Price, PriceUnit } from '../../core/bounds.js'
import { costOf, tokensOf, type Units, unitsOf } from '../../core/cost.js'
import type { Usage } from '../../core/plan.js'
import { otherUnits, type Worst, writesText } from '../../core/worst.js'
import type { Used } from '../../kernel/charged.js'
import type { Outcome } from '../../kernel/stages.js'
import { BYTES_PER_TOKEN } from '../../wire/input-size.js'

/** Bytes of an event of a stream around its text. */
const EVENT_BYTES = 220
/** Bytes of a whole answer around its text. */
const ANSWER_BYTES = 400

const NO_UNITS: Units = Object.freeze({})
const NOTHING: Used = { units: NO_UNITS, tokens: 0, cost: 0, isEstimated: false }

/** What is known of an attempt that has ended. */
interface Ended {
  readonly demand: Demand
  readonly worst: Worst
  readonly paths: AmountPaths | undefined
  readonly price: Price | undefined
  readonly usage: Usage | undefined
  readonly isSent: boolean
  readonly outcome: Outcome
}

/**
 * What is charged: the upstream's own count, and of a stream that ended early what was delivered, if that is more. Without a
 * count a failed attempt costs nothing, an answer is counted here, and of one that was given up what was delivered; never more
 * than was reserved. An upstream that was given up before it answered has read the input.
 */
export function usedBy(ended: Ended): Used {
  const { demand, paths, price, usage, isSent, outcome, worst } = ended
  if (!isSent || paths?.free === true) return NOTHING
  const isAnswered = outcome.phase === 'ok' || outcome.begun
  if (usage === undefined && !isAnswered && outcome.phase !== 'cancelled') return NOTHING
  const likely = demand.audioSeconds === 0 ? demand : { ...demand, audioSeconds: demand.likelyAudioSeconds }
  const others = isAnswered ? otherUnits(likely, price, demand.images) : NO_UNITS
  if (usage !== undefined) {
    const reached = usageReached(usage, ended)
    const units = unitsOf(reached, price, others)
    return { units, tokens: tokensOf(reached), cost: costOf(units, price), isEstimated: reached !== usage }
  }
  // What a batch holds comes later, and is in its price.
  const input = paths?.batch === true ? 0 : Math.min(demand.likelyInput, worst.input)
  const output = isAnswered ? outputOf(ended, others) : 0
  const units = { ...others, ...(input > 0 && { input }), ...(output > 0 && { output }) }
  const isCounted = price === undefined || hasTokens(price) || 'audio_second' in others
  const cost = Math.min(costOf(units, price), worst.cost)
  return { units, tokens: input + output, cost, isEstimated: isCounted }
}

/** What is made may have a price by tokens alone, which only the upstream can count: it costs what was reserved for it. */
function outputOf({ paths, price, worst, outcome }: Ended, others: Units): number {
  if (writesText(paths)) return Math.min(deliveredTokens(outcome), worst.output)
  const isPriced = Object.keys(others).some(unit => price?.[unit as PriceUnit] !== undefined)
  return price?.output === undefined || isPriced ? 0 : worst.output
}

/**
 * The usage of a stream that ended early, which may be what its first event said (message blocks: one token of output). What
 * was delivered is charged then.
 */
function usageReached(usage: Usage, { outcome, paths, worst }: Ended): Usage {
  if (outcome.phase === 'ok' || !outcome.begun || !writesText(paths)) return usage
  const output = Math.min(deliveredTokens(outcome), worst.output)
  return output > (usage.output ?? 0) ? { ...usage, output } : usage
}

function deliveredTokens({ bytes, events }: Outcome): number {
  const around = events === 0 ? ANSWER_BYTES : events * EVENT_BYTES
  return Math.max(events, Math.ceil(Math.max(0, bytes - around) / BYTES_PER_TOKEN))
}

function hasTokens({ input, output }: Price): boolean {
  return input !== undefined || output !== undefined
}
