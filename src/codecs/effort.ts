import { EFFORTS, type Effort, type ReasoningWish } from '../core/text.js'

/**
 * Tokens to think with for each effort: those that the vendor of the native protocol publishes for its compatible
 * endpoint (1024, 8192, 24576), and steps of the same kind beyond.
 */
const BUDGETS: Readonly<Record<Effort, number>> = {
  none: 0,
  minimal: 1024,
  low: 1024,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
  max: 65_536,
}

export function budgetOf(effort: Effort): number {
  return BUDGETS[effort]
}

/**
 * The least effort whose budget holds this one, at most high: every model that takes an effort knows that word, and most
 * refuse a request with one beyond it. -1 (as the upstream sees fit) is medium.
 */
export function effortOf(budget: number): Effort {
  if (budget < 0) return 'medium'
  if (budget === 0) return 'none'
  return (['low', 'medium'] as const).find(effort => BUDGETS[effort] >= budget) ?? 'high'
}

/** The wish in terms of effort; undefined where none is said. Adaptive thinking without a word is high. */
export function effortWished({ effort, budget, adaptive }: ReasoningWish): Effort | undefined {
  return effort ?? (budget === undefined ? (adaptive === true ? 'high' : undefined) : effortOf(budget))
}

/** The wish in tokens; undefined where nothing is said of how much. */
export function budgetWished({ effort, budget }: ReasoningWish): number | undefined {
  return budget ?? (effort === undefined ? undefined : budgetOf(effort))
}

export function isEffort(value: unknown): value is Effort {
  return (EFFORTS as readonly unknown[]).includes(value)
}
