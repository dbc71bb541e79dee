/** Candidates beyond this number are not looked at: a suggestion is a courtesy, not worth a pause. */
const MAX_CANDIDATES = 5000

/** The candidate that the author of `written` probably meant, or `undefined` where none is near. */
export function suggest(written: string, candidates: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestDistance = Math.max(1, Math.floor(written.length / 3)) + 1
  let seen = 0
  for (const candidate of candidates) {
    if (++seen > MAX_CANDIDATES) break
    if (candidate.toLowerCase() === written.toLowerCase()) return candidate
    if (Math.abs(candidate.length - written.length) >= bestDistance) continue
    const found = distance(written.toLowerCase(), candidate.toLowerCase())
    if (found < bestDistance) {
      best = candidate
      bestDistance = found
    }
  }
  return best
}

/** Damerau–Levenshtein distance: insertions, deletions, replacements and swaps of neighbours count 1 each. */
export function distance(a: string, b: string): number {
  let twoBack: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min((previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (previous[j - 1] ?? 0) + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (twoBack[j - 2] ?? 0) + 1)
      row.push(least)
    }
    twoBack = previous
    previous = row
  }
  return previous[b.length] ?? 0
}
