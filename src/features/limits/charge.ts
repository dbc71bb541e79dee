import type { AmountPaths } from '../../core/amounts.js'
import type { Price, Tariff } from '../../core/bounds.js'
import type { Usage } from '../../core/plan.js'
import type { Outcome } from '../../kernel/stages.js'
import { costOf, tokensOf, type Units, unitsOf, worstCost } from './cost.js'
import { BYTES_PER_TOKEN, type Demand } from './demand.js'

/** Tokens of an answer whose length nothing bounds: no request, no model and no limit. */
const UNKNOWN_OUTPUT = 16_384
/** Tokens of one picture, where pictures are charged by tokens: the largest need some 6,200. */
const TOKENS_PER_IMAGE = 8192
/** Tokens of sound for one character that is spoken. */
const TOKENS_PER_CHARACTER = 4
/** Bytes of an event of a stream around its text. */
const EVENT_BYTES = 220
/** Bytes of a whole answer around its text. */
const ANSWER_BYTES = 400
/** What sound most likely lasts of what its bytes may last: 32 kbit/s. */
const LIKELY_SOUND = 1 / 4

/** What an attempt uses at most; its cost in millionths of a USD. */
export interface Worst {
  readonly input: number
  readonly output: number
  readonly tokens: number
  readonly cost: number
}

/** What an attempt used. */
export interface Used {
  readonly units: Units
  readonly tokens: number
  readonly cost: number
  readonly isEstimated: boolean
}

const NOTHING: Used = { units: {}, tokens: 0, cost: 0, isEstimated: false }

/** `maxOutput`: the smallest limit of the scopes that the attempt meets. */
export function worstOf(
  demand: Demand,
  paths: AmountPaths | undefined,
  tariff: Tariff | undefined,
  maxOutput: number | undefined,
): Worst {
  const price = tariff?.price
  const input = paths?.free === true ? 0 : demand.input
  const output = outputOf(demand, paths, Math.min(maxOutput ?? UNKNOWN_OUTPUT, tariff?.maxOutput ?? UNKNOWN_OUTPUT))
  const ofTokens = paths?.batch === true ? 0 : worstCost(input, output, price)
  const cost = paths?.free === true ? 0 : ofTokens + costOf(otherUnits(demand, price, demand.images), price)
  return { input, output, tokens: input + output, cost }
}

function outputOf(demand: Demand, paths: AmountPaths | undefined, unsaid: number): number {
  if (writesText(paths)) return (demand.output ?? unsaid) * demand.choices
  return demand.images * TOKENS_PER_IMAGE + demand.characters * TOKENS_PER_CHARACTER
}

/** Whether answers are text of a length that the request may bound. */
function writesText(paths: AmountPaths | undefined): boolean {
  return paths === undefined || paths.output.length > 0 || paths.audio
}

/** What the request itself says of what it takes beside tokens. */
function otherUnits(demand: Demand, price: Price | undefined, images: number): Units {
  const { characters, searches, seconds, heard, requests } = demand
  return {
    ...(images > 0 && { image: images }),
    ...(characters > 0 && { character: characters }),
    ...(seconds > 0 && { video_second: seconds }),
    ...(searches > 0 && price?.search !== undefined && { search: searches }),
    ...(heard > 0 && price?.audio_second !== undefined && { audio_second: heard }),
    ...(price?.request !== undefined && { request: requests }),
  }
}

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
    const units = { ...others, ...unitsOf(usage, price) }
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
