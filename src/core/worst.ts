import type { AmountPaths, Demand } from './amounts.js'
import type { Price, PriceUnit, Tariff } from './bounds.js'
import { costOf, NO_UNITS, type Units, worstCost } from './cost.js'

/** Tokens of an answer whose length nothing bounds: no request, no model and no limit. */
const UNKNOWN_OUTPUT_TOKENS = 16_384
/** Tokens of one picture, where pictures are charged by tokens: the largest need some 6,200. */
const TOKENS_PER_IMAGE = 8192
/** Tokens of sound for one character that is spoken. */
const TOKENS_PER_CHARACTER = 4

/** What an attempt uses at most; its cost in millionths of a USD. */
export interface Worst {
  readonly input: number
  readonly output: number
  readonly tokens: number
  readonly cost: number
}

/** `maxOutput`: the smallest limit of the scopes that the attempt meets. */
export function worstOf(
  demand: Demand,
  paths: AmountPaths | undefined,
  tariff: Tariff | undefined,
  maxOutput: number | undefined,
): Worst {
  const price = tariff?.price
  const input = paths?.free === true ? 0 : demand.input
  const output = outputOf(demand, paths, maxOutput, tariff?.maxOutput)
  const ofTokens = paths?.batch === true ? 0 : worstCost(input, output, price)
  const cost = paths?.free === true ? 0 : ofTokens + costOf(otherUnits(demand, price, demand.images), price)
  return { input, output, tokens: input + output, cost }
}

function outputOf(demand: Demand, paths: AmountPaths | undefined, limit?: number, declared?: number): number {
  if (!writesText(paths)) return demand.images * TOKENS_PER_IMAGE + demand.characters * TOKENS_PER_CHARACTER
  const { output, choices } = demand
  // Of a session: all others that ask for more than the limit are refused.
  if (output !== undefined) return Math.min(output, limit ?? output) * choices
  // A limit that is not sent bounds nothing.
  const sent = paths !== undefined && paths.output.length > 0 ? limit : undefined
  return Math.min(sent ?? declared ?? UNKNOWN_OUTPUT_TOKENS, declared ?? sent ?? UNKNOWN_OUTPUT_TOKENS) * choices
}

/** Whether answers are text of a length that the request may bound. */
export function writesText(paths: AmountPaths | undefined): boolean {
  return paths === undefined || paths.output.length > 0 || paths.audio
}

/** What the request itself says of what it takes beside tokens. */
export function otherUnits(demand: Demand, price: Price | undefined, images: number): Units {
  const { characters, searches, seconds, audioSeconds, requests } = demand
  if (images + characters + seconds + searches + audioSeconds === 0 && price?.request === undefined) return NO_UNITS
  const units: Partial<Record<PriceUnit, number>> = {}
  if (images > 0) units.image = images
  if (characters > 0) units.character = characters
  if (seconds > 0) units.video_second = seconds
  if (searches > 0 && price?.search !== undefined) units.search = searches
  if (audioSeconds > 0 && price?.audio_second !== undefined) units.audio_second = audioSeconds
  if (price?.request !== undefined) units.request = Math.max(1, requests)
  return units
}
