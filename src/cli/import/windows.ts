import type { Json } from '../../core/json.js'

/** Amounts of one limit (`5 USD/day`), of each window the smallest: here a window has one amount, and there all of them hold. */
export function onePerWindow(texts: readonly string[]): Json {
  const least = new Map<string, string>()
  for (const text of texts) {
    const window = text.replace(/^[\d.]+/, '')
    const before = least.get(window)
    if (before === undefined || Number.parseFloat(text) < Number.parseFloat(before)) least.set(window, text)
  }
  const [first = '', ...others] = least.values()
  return others.length === 0 ? first : [first, ...others]
}
