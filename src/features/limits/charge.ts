import type { AmountPaths, Demand } from '../../core/amounts.js'
import type { Price, PriceUnit } from '../../core/bounds.js'
import { costOf, NO_UNITS, tokensOf, type Units, unitsOf } from '../../core/cost.js'
import type { Exchange, Usage } from '../../core/plan.js'
import { asSound, speaks } from '../../core/sound-units.js'
import { otherUnits, type Worst, writesText } from '../../core/worst.js'
import type { Used } from '../../kernel/charged.js'
import type { Outcome } from '../../kernel/stages.js'
import { deliveredTokens, learnStream } from './delivered.js'

/** Of a session that has begun, however it ends. */
const SWITCHING_PROTOCOLS = 101
const NOTHING: Used = { units: NO_UNITS, tokens: 0, cost: 0, isEstimated: false }

/** What is known of an attempt that has ended. */
interface Ended {
  readonly demand: Demand
  readonly worst: Worst
  readonly paths: AmountPaths | undefined
  readonly price: Price | undefined
  readonly usage: Usage | undefined
  readonly isSent: boolean
  readonly isWhole: boolean
  readonly isSession: boolean
  readonly exchange: Exchange
  readonly outcome: Outcome
}

/**
 * What is charged: the upstream's own count, and of a stream that ended early what was delivered, if that is more. Without a
 * count a failed attempt costs nothing, an answer is counted here, also if its client has gone, and of one that was given up what
 * was delivered; never more than was reserved. A session costs its upstream's counts, and what was delivered since the last one.
 * An upstream that was given up before it answered has read the input.
 */
export function usedBy(ended: Ended): Used {
  const { demand, paths, price, usage, isSent, isWhole, isSession, outcome, worst } = ended
  if (!isSent || paths?.free === true) return NOTHING
  const isAnswered = outcome.phase === 'ok' || isWhole || outcome.begun || outcome.status === SWITCHING_PROTOCOLS
  const isGivenUp = outcome.phase === 'cancelled' && (outcome.status ?? 0) < 300
  if (usage === undefined && !isAnswered && !isGivenUp) return NOTHING
  const others = isAnswered ? otherUnits(likelyDemand(demand, usage), price, demand.images) : NO_UNITS
  const isGuessed = isAnswered && hasGuess(ended)
  if (usage !== undefined && hasCount(usage)) {
    if (outcome.phase === 'ok' && writesText(paths) && !isSession)
      learnStream(ended.exchange, outcome, usage.output ?? 0)
    const reached = usageReached(usage, ended)
    const units = asSound(unitsOf(reached, price, others), paths, price)
    return { units, tokens: tokensOf(reached), cost: costOf(units, price), isEstimated: isGuessed || reached !== usage }
  }
  // What a batch holds comes later, and is in its price.
  const input = paths?.batch === true ? 0 : Math.min(demand.likelyInput, worst.input)
  const output = isAnswered ? outputOf(ended, others) : 0
  const units = asSound({ ...others, ...(input > 0 && { input }), ...(output > 0 && { output }) }, paths, price)
  const hasPrice = price === undefined || hasTokens(price)
  const isCounted = (hasPrice && input + output > 0) || 'audio_second' in others
  const cost = Math.min(costOf(units, price), usage === undefined ? worst.cost : Number.POSITIVE_INFINITY)
  return { units, tokens: input + output, cost, isEstimated: isGuessed || isCounted }
}

/** Beside its tokens: as long as it most likely is, with the searches that the upstream counted. */
function likelyDemand(demand: Demand, usage: Usage | undefined): Demand {
  const { audioSeconds, likelyAudioSeconds } = demand
  if (audioSeconds === 0 && usage?.searches === undefined) return demand
  return { ...demand, audioSeconds: likelyAudioSeconds, searches: usage?.searches ?? demand.searches }
}

/** Whether something with a price is known neither of the request nor of its answer: how long a sound or a video is. */
function hasGuess({ demand, usage, price }: Ended): boolean {
  const { seconds, saysSeconds, audioSeconds, likelyAudioSeconds } = demand
  const isHeard = price?.audio_second !== undefined && usage?.seconds === undefined
  const isSeen = price?.video_second !== undefined && seconds > 0
  return (isHeard && audioSeconds !== likelyAudioSeconds) || (isSeen && !saysSeconds)
}

/** Whether it counts more than searches. */
function hasCount({ input, output, total, seconds }: Usage): boolean {
  return (input ?? output ?? total ?? seconds) !== undefined
}

/** What is made may have a price by tokens alone, which only the upstream can count: it costs what was reserved for it. */
function outputOf(ended: Ended, others: Units): number {
  const { paths, price, worst } = ended
  if (writesText(paths)) return deliveredOf(ended)
  const isPriced = Object.keys(others).some(unit => price?.[unit as PriceUnit] !== undefined)
  const rate = speaks(paths) ? (price?.output ?? price?.output_audio) : price?.output
  return rate === undefined || isPriced ? 0 : worst.output
}

/**
 * The usage of a stream that ended early, which may be what its first event said (message blocks: one token of output). What
 * was delivered is charged then.
 */
function usageReached(usage: Usage, ended: Ended): Usage {
  const { outcome, paths, isWhole, isSession } = ended
  if (isSession) {
    const rest = deliveredOf(ended)
    return rest > 0 ? { ...usage, output: (usage.output ?? 0) + rest } : usage
  }
  if (isWhole || outcome.phase === 'ok' || !outcome.begun || !writesText(paths)) return usage
  const output = deliveredOf(ended)
  return output > (usage.output ?? 0) ? { ...usage, output } : usage
}

function deliveredOf({ exchange, outcome, paths, worst }: Ended): number {
  return Math.min(deliveredTokens(exchange, outcome, paths?.tokenBytes), worst.output)
}

function hasTokens({ input, output, input_audio, output_audio }: Price): boolean {
  return (input ?? output ?? input_audio ?? output_audio) !== undefined
}
