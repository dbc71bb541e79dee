import { boundText } from '../../core/bound-text.js'
import { hasBudget, type ScopeLimits } from '../../core/bounds.js'
import type { Words } from './words.js'

/** `requests/minute`: `600/min`; what a bound is of and for decides which ones are compared. */
export function boundWords(limits: ScopeLimits | undefined, strict = false): Words {
  const words = new Map<string, string>()
  for (const bound of limits?.bounds ?? []) words.set(`${bound.unit} per ${bound.window}`, boundText(bound))
  for (const name of NUMBERS) {
    const value = limits?.[name]
    if (value !== undefined) words.set(name, String(value))
  }
  if (limits?.unpriced !== undefined) words.set('unpriced', limits.unpriced)
  const fails = limits && whenStoreFails(limits)
  if (fails !== undefined) words.set('when_store_fails', fails)
  if (strict) words.set('strict', 'yes')
  return words
}

/** Absent: as bounds have it that say nothing of it, of which budgets are closed and the others open. */
function whenStoreFails(limits: ScopeLimits): string | undefined {
  const { bounds, in_flight, streams, when_store_fails } = limits
  const hasOthers = (in_flight ?? streams) !== undefined || bounds.some(({ unit }) => unit !== 'budget')
  const isUsual = when_store_fails === 'open' ? !hasBudget(limits) : !hasOthers
  return isUsual ? undefined : when_store_fails
}

/** More of one is a weaker policy. */
const NUMBERS = ['in_flight', 'streams', 'max_output', 'body'] as const satisfies readonly (keyof ScopeLimits)[]
