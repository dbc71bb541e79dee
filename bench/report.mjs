// Medians over rounds, as a table for people and as JSON.

export const median = numbers => {
  const sorted = [...numbers].sort((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}

export const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]

/**
 * Rounds by target → medians by target, and as `times` how many times as much CPU the gateway takes, the median of what
 * the rounds say. Every round is `{ rate, cpu, p50, p99, rss }`.
 */
export function summarise(rounds) {
  const gateway = rounds.get('gateway')
  return Object.fromEntries(
    [...rounds].map(([target, all]) => {
      const medians = Object.keys(all[0]).map(name => [name, median(all.map(round => round[name]))])
      const times = gateway && median(all.map(({ cpu }, round) => gateway[round].cpu / cpu))
      return [target, { ...Object.fromEntries(medians), times }]
    }),
  )
}

/** Where figures of a run go: those that are not of all requests, or beside another checkout, never replace those of a whole run. */
export function outName({ out, tls, partial }) {
  if (out !== undefined) return out
  if (partial) return 'partial'
  return tls ? 'tls' : 'result'
}

/** `results`: { [workload]: { unit, targets: { [target]: summary } } } → lines of text. */
export function table(results) {
  return Object.entries(results).flatMap(([name, { unit, targets }]) => {
    const columns = ['', `${unit}s/s`, `CPU µs/${unit}`, 'added p50 ms', 'added p99 ms', 'RSS MiB']
    const rows = Object.entries(targets).map(([target, at]) => {
      const added = key =>
        target === 'direct' ? `(${at[key].toFixed(2)})` : (at[key] - targets.direct[key]).toFixed(2)
      return [target, at.rate.toFixed(0), at.cpu.toFixed(1), added('p50'), added('p99'), at.rss.toFixed(0)]
    })
    return ['', name, ...align([columns, ...rows]), `  ${ratios(targets)}`]
  })
}

function ratios({ floor, nginx, other }) {
  const over = target => (Number.isFinite(target?.times) ? target.times.toFixed(2) : 'not measured')
  const beside = other === undefined ? '' : `, gateway / other = ${over(other)}`
  return `CPU: gateway / floor = ${over(floor)}, gateway / nginx = ${over(nginx)}${beside}`
}

function align(rows) {
  const widths = rows[0].map((_, i) => Math.max(...rows.map(row => row[i].length)))
  return rows.map(
    row => `  ${row.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i]))).join('  ')}`,
  )
}
