/**
 * Okapi BM25 (Robertson and Zaragoza, 2009) with its usual constants, and with the inverse document frequency that is
 * never negative: ln(1 + (N − n + ½) / (n + ½)).
 */
const SATURATION = 1.2
const LENGTH = 0.75

const WORDS = /[\p{L}\p{N}]+/gu

/**
 * The relevance of each document to the query, from 0 (no word in common) to 1 (out of reach): its BM25 as a share of
 * what the query could gain at most. Words are compared without case; each word of the query counts once.
 */
export function relevance(query: string, documents: readonly string[]): readonly number[] {
  const terms = new Set(wordsOf(query))
  const counted = documents.map(document => count(document, terms))
  const average = counted.reduce((sum, { length }) => sum + length, 0) / documents.length
  const weights = new Map([...terms].map(term => [term, rarity(term, counted)]))
  const most = [...weights.values()].reduce((sum, weight) => sum + weight * (SATURATION + 1), 0)
  return counted.map(one => (most === 0 ? 0 : score(one, weights, average) / most))
}

interface Counted {
  /** In words. */
  readonly length: number
  /** How often each word of the query occurs. */
  readonly times: ReadonlyMap<string, number>
}

function count(document: string, terms: ReadonlySet<string>): Counted {
  const times = new Map<string, number>()
  let length = 0
  for (const word of wordsOf(document)) {
    length += 1
    if (terms.has(word)) times.set(word, (times.get(word) ?? 0) + 1)
  }
  return { length, times }
}

function rarity(term: string, documents: readonly Counted[]): number {
  const having = documents.reduce((sum, { times }) => sum + (times.has(term) ? 1 : 0), 0)
  return Math.log(1 + (documents.length - having + 0.5) / (having + 0.5))
}

function score({ times, length }: Counted, weights: ReadonlyMap<string, number>, average: number): number {
  let sum = 0
  for (const [term, often] of times) {
    const norm = SATURATION * (1 - LENGTH + (LENGTH * length) / average)
    sum += ((weights.get(term) ?? 0) * often * (SATURATION + 1)) / (often + norm)
  }
  return sum
}

function wordsOf(text: string): readonly string[] {
  return text.normalize('NFKC').toLowerCase().match(WORDS) ?? []
}
