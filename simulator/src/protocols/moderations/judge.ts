import type { Seed } from '../../seed.js'
import { CATEGORIES, type Category, MODERATION_WORDS, SEEN } from './words.js'

const FLAG_THRESHOLD = 0.5
const MAX_BASE_SCORE = 0.4

/** One result of a moderation. */
export interface Judgement {
  readonly flagged: boolean
  readonly categories: Readonly<Record<Category, boolean>>
  readonly category_scores: Readonly<Record<Category, number>>
  readonly category_applied_input_types: Readonly<Record<Category, readonly string[]>>
}

/** Judges a text by the published words alone: each one found halves the distance from the score to 1. */
export function judge(text: string, kinds: { text: boolean; image: boolean }, seed: Seed): Judgement {
  const folded = ` ${text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, ' ')} `
  const scores = each(category => score(folded, category, seed))
  return {
    flagged: CATEGORIES.some(category => scores[category] >= FLAG_THRESHOLD),
    categories: each(category => scores[category] >= FLAG_THRESHOLD),
    category_scores: scores,
    category_applied_input_types: each(category => [
      ...(kinds.text ? ['text'] : []),
      ...(kinds.image && SEEN.has(category) ? ['image'] : []),
    ]),
  }
}

function score(folded: string, category: Category, seed: Seed): number {
  const found = MODERATION_WORDS[category].filter(word => folded.includes(` ${word} `)).length
  const quiet = seed.fork(category).fraction() * 0.001
  return found === 0 ? quiet : 1 - MAX_BASE_SCORE / 2 ** (found - 1) + quiet
}

function each<T>(value: (category: Category) => T): Readonly<Record<Category, T>> {
  return Object.fromEntries(CATEGORIES.map(category => [category, value(category)])) as Record<Category, T>
}
