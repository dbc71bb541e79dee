import type { BackIf } from '../../core/reload.js'
import { type MeasuredPair, percentile, slowerThan, timesOf } from '../../features/generations/measured.js'

/** With fewer requests of either side nothing is decided before the time is over. */
const MIN_REQUESTS = 20
/** A single failure, or a single slow answer, decides nothing. */
const MIN_CASES = 2
/** With fewer times of the generation that serves its 95th percentile says too little. */
const MIN_STABLE_TIMES = 50
/** How likely chance alone may explain what takes the new one back: looked at often, and once at the end. */
const MAX_CHANCE = { before: 0.01, end: 0.1 }
const PERCENTILE = 0.95

/** Undefined: both continue. A text: the new one goes back, and why. */
export type Verdict = 'whole' | { readonly back: string } | undefined

/**
 * What becomes of a new generation, by what both have come to so far. `chance`: how likely chance alone explains how many of its
 * requests fail.
 */
export function judge(backIf: BackIf, measured: MeasuredPair, chance: number, isOver: boolean): Verdict {
  const back = failsMore(backIf, measured, chance, isOver) ?? isSlower(backIf, measured, isOver)
  if (back !== undefined) return { back }
  return isOver ? 'whole' : undefined
}

function failsMore(
  { errors }: BackIf,
  { fresh, stable }: MeasuredPair,
  chance: number,
  isOver: boolean,
): string | undefined {
  if (errors === undefined || fresh.failures < MIN_CASES || chance >= mostChance(isOver)) return undefined
  if (!isOver && Math.min(fresh.requests, stable.requests) < MIN_REQUESTS) return undefined
  const usual = stable.requests === 0 ? 0 : stable.failures / stable.requests
  if (fresh.failures / fresh.requests <= usual + errors) return undefined
  return `${fresh.failures} of ${fresh.requests} requests failed, ${stable.failures} of ${stable.requests} of the others: more than +${percent(errors)}`
}

function isSlower({ ttft }: BackIf, { fresh, stable }: MeasuredPair, isOver: boolean): string | undefined {
  if (ttft === undefined || timesOf(stable) < MIN_STABLE_TIMES) return undefined
  const times = timesOf(fresh)
  if (!isOver && times < MIN_REQUESTS) return undefined
  const usual = percentile(stable, PERCENTILE) ?? 0
  if (!isBeyond(slowerThan(fresh, usual * (1 + ttft)), times, 1 - PERCENTILE, isOver)) return undefined
  const now = percentile(fresh, PERCENTILE) ?? 0
  return `the time to the first token is ${Math.round(now)} ms at the 95th percentile, ${Math.round(usual)} ms of the others: more than +${percent(ttft)}`
}

/** Whether so many cases of so many are more than a share of them, and not by chance. */
function isBeyond(cases: number, of: number, share: number, isOver: boolean): boolean {
  if (cases < MIN_CASES || cases / of <= share) return false
  return chanceOf(cases, of, share) < mostChance(isOver)
}

function mostChance(isOver: boolean): number {
  return isOver ? MAX_CHANCE.end : MAX_CHANCE.before
}

/** How likely so many cases or more of so many are, where each is one with that probability (binomial). @testonly */
export function chanceOf(cases: number, of: number, probability: number): number {
  if (probability <= 0) return cases > 0 ? 0 : 1
  if (probability >= 1) return 1
  const odds = Math.log(probability) - Math.log1p(-probability)
  let term = of * Math.log1p(-probability)
  let fewer = 0
  for (let count = 0; count < cases; count++) {
    fewer += Math.exp(term)
    term += Math.log((of - count) / (count + 1)) + odds
  }
  return Math.max(0, 1 - fewer)
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(3))}%`
}
