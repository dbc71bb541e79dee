import type { Faults } from './table.js'

/** Applies the `usage` fault to the token counts of an answer, nested ones included. */
export function spoiled<T extends object>(counts: T, { usage }: Faults): T | undefined {
  if (usage === undefined) return counts
  if (usage === 'none') return undefined
  return JSON.parse(JSON.stringify(counts), (_, value) => (typeof value === 'number' ? WRONG[usage](value) : value))
}

const WRONG = {
  negative: (count: number) => -1 - count,
  huge: () => 1e300,
  text: (count: number) => String(count),
} as const
