import type { Target } from '../../core/codec.js'
import type { Field } from '../../core/fields.js'
import type { JsonObject } from '../../core/json.js'
import type { Effort, ReasoningWish } from '../../core/text.js'
import { budgetOf, budgetWished, effortOf } from '../effort.js'

/** Least budget that the service takes, and what a clamped one leaves for the answer. Tokens. */
const MIN_BUDGET_TOKENS = 1024

/** What else in a request decides whether the model may think. */
export interface Circumstances {
  /** Undefined where tokens are only counted. */
  readonly maxTokens: number | undefined
  /** A call is demanded. */
  readonly demandsCall: boolean
  /** The answer continues from words of the assistant. */
  readonly prefilled: boolean
  /** The last turn answers calls whose thoughts are missing. */
  readonly thoughtless: boolean
}

export interface ReasoningOut {
  readonly thinking?: JsonObject
  readonly effort?: string
}

/**
 * The wish to think in the terms of the model: `budget` (models of the first generations that think), `adaptive` with an
 * effort, or `effort` alone (models that cannot be kept from thinking). Where the operator says nothing of it, budgets stay
 * budgets and everything else becomes adaptive. What excludes thinking is reported, and the request goes without.
 */
export function encodeReasoning(
  wish: ReasoningWish | undefined,
  circumstances: Circumstances,
  target: Target,
): ReasoningOut {
  if (wish === undefined) return {}
  if (isOff(wish)) return encodeOff(target)
  if (!isStated(wish)) return {}
  const terms = target.traits.reasoning
  const field = fieldOf(wish)
  if (terms === 'none') {
    target.lose(field, undefined, 'the model does not think')
    return {}
  }
  const byBudget = terms === 'budget' || (terms !== 'adaptive' && terms !== 'effort' && speaksInBudget(wish))
  const effort = byBudget ? ownEffort(wish, terms) : effortFor(wish, target)
  const level = effort === undefined ? {} : { effort }
  if (terms === 'effort') return level
  const obstacle = obstacleOf(circumstances, byBudget)
  if (obstacle !== undefined) {
    target.lose(obstacle.field ?? field, undefined, obstacle.why)
    return level
  }
  const display = displayOf(wish, target)
  if (!byBudget) return { thinking: { type: 'adaptive', ...display }, ...level }
  return { thinking: { type: 'enabled', budget_tokens: budgetFor(wish, circumstances, target), ...display }, ...level }
}

function isOff({ effort, budget }: ReasoningWish): boolean {
  return effort === 'none' || (effort === undefined && budget === 0)
}

function encodeOff(target: Target): ReasoningOut {
  switch (target.traits.reasoning) {
    case 'none':
      return {}
    case 'effort':
      target.lose('effort', undefined, 'thinking cannot be switched off for the model')
      return { effort: 'low' }
    default:
      return { thinking: { type: 'disabled' } }
  }
}

/** Whether thinking is asked for at all; to hide thoughts, or to want them sealed, asks for none. */
function isStated({ effort, budget, adaptive, show }: ReasoningWish): boolean {
  return effort !== undefined || budget !== undefined || adaptive === true || (show !== undefined && show !== 'none')
}

function fieldOf({ effort, budget, adaptive }: ReasoningWish): Field {
  if (effort !== undefined) return 'effort'
  if (budget !== undefined) return 'budget'
  return adaptive === true ? 'effort' : 'showReasoning'
}

function speaksInBudget({ budget, adaptive }: ReasoningWish): boolean {
  return budget !== undefined && budget > 0 && adaptive !== true
}

/** Beside a budget an effort goes out only where the client named both, and the operator has not chosen. */
function ownEffort(wish: ReasoningWish, terms: string | undefined): string | undefined {
  return terms === 'budget' || wish.effort === undefined ? undefined : word(wish.effort)
}

function effortFor({ effort, budget, adaptive }: ReasoningWish, target: Target): string | undefined {
  if (effort !== undefined) {
    if (effort === 'minimal') target.lose('effort')
    return word(effort)
  }
  if (budget === undefined || budget <= 0 || adaptive === true) return undefined
  target.lose('budget')
  return word(effortOf(budget))
}

function word(effort: Effort): string {
  return effort === 'minimal' || effort === 'none' ? 'low' : effort
}

function obstacleOf(
  { maxTokens, demandsCall, prefilled, thoughtless }: Circumstances,
  byBudget: boolean,
): { readonly field?: Field; readonly why: string } | undefined {
  if (demandsCall) return { why: 'the model does not think if a call is required' }
  if (prefilled) return { why: 'the model does not think when it continues its own text' }
  if (!byBudget) return undefined
  if (thoughtless) {
    const why = 'the thoughts before the last calls are missing, so their results are answered without thinking'
    return { field: 'reasoningParts', why }
  }
  if (maxTokens !== undefined && maxTokens <= MIN_BUDGET_TOKENS) {
    return { why: `a limit of ${maxTokens} tokens leaves no room to think` }
  }
  return undefined
}

const NO_ROOM = 'the limit of tokens leaves room for less'

/** The limit of tokens is the client's bound on cost and stays: a budget that does not fit below it becomes smaller. */
function budgetFor(wish: ReasoningWish, { maxTokens }: Circumstances, target: Target): number {
  const wished = budgetWished(wish) ?? (wish.adaptive === true ? budgetOf('high') : -1)
  const asked = wished < 0 ? budgetOf('medium') : wished
  const room = maxTokens === undefined || asked < maxTokens ? asked : maxTokens - MIN_BUDGET_TOKENS
  const budget = Math.max(MIN_BUDGET_TOKENS, Math.trunc(room))
  if (wish.budget === undefined) target.lose('effort', undefined, budget < asked ? NO_ROOM : undefined)
  else if (budget !== wished)
    target.lose('budget', undefined, budget < asked ? NO_ROOM : `${MIN_BUDGET_TOKENS} is the least`)
  return budget
}

function displayOf({ show }: ReasoningWish, target: Target): JsonObject {
  if (show === undefined) return {}
  if (show === 'concise' || show === 'detailed') target.lose('showReasoning')
  return { display: show === 'none' ? 'omitted' : 'summarized' }
}
