import type { AmountPaths, Demand } from './amounts.js'
import type { Tariff } from './bounds.js'
import { costOf } from './cost.js'
import { otherUnits, writesText } from './worst.js'

/** Tokens of an answer whose request does not bound it. */
const LIKELY_OUTPUT_TOKENS = 1024

/**
 * What a target is likely to charge for a request, millionths of a USD: good for comparing targets, not for budgets. Undefined where
 * no price is known.
 */
export function likelyCost(
  demand: Demand,
  paths: AmountPaths | undefined,
  tariff: Tariff | undefined,
): number | undefined {
  const price = tariff?.price
  if (price === undefined) return undefined
  const most = tariff?.maxOutput ?? Number.POSITIVE_INFINITY
  const output = writesText(paths) ? Math.min(demand.output ?? LIKELY_OUTPUT_TOKENS, most) * demand.choices : 0
  const units = { ...otherUnits(demand, price, demand.images), input: demand.likelyInput, output }
  return costOf(units, price)
}
