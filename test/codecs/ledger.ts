/** What became of each thing on its way from one protocol to another, and why some of it is no longer there. */
export class Ledger {
  readonly #rows = new Map<string, Map<string, { kept: number; all: number }>>()
  readonly #causes = new Map<string, { count: number; example: string }>()
  readonly #undeclared: string[] = []

  /** `pair` is a row of the table, `what` a column. A loss that is declared is a loss all the same, but no fault. */
  note(pair: string, what: string, kept: boolean, cause = '', example = '', declared = false): void {
    const row = this.#rows.get(pair) ?? new Map<string, { kept: number; all: number }>()
    this.#rows.set(pair, row)
    const cell = row.get(what) ?? { kept: 0, all: 0 }
    row.set(what, { kept: cell.kept + (kept ? 1 : 0), all: cell.all + 1 })
    if (kept) return
    const key = `${pair}: ${what}: ${cause}`
    if (!declared) this.#undeclared.push(`${key} (${example})`)
    const known = this.#causes.get(key)
    this.#causes.set(key, { count: (known?.count ?? 0) + 1, example: known?.example ?? short(example) })
  }

  /** Losses of these things that no one declared. */
  undeclared(...whats: readonly string[]): readonly string[] {
    return this.#undeclared.filter(one => whats.some(what => one.includes(`: ${what}: `)))
  }

  /** The table, and below it each cause of a loss with its number and an example. */
  lines(): readonly string[] {
    const columns = [...new Set([...this.#rows.values()].flatMap(row => [...row.keys()]))]
    const cells = [...this.#rows].map(([pair, row]) => [pair, ...columns.map(column => cellText(row.get(column)))])
    const all = [['', ...columns], ...cells]
    const widths = ['', ...columns].map((_, i) => Math.max(...all.map(row => row[i]?.length ?? 0)))
    const table = all.map(row => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('  '))
    const causes = [...this.#causes].map(([key, { count, example }]) => `  ${count} × ${key} (${example})`)
    return [...table, ...causes]
  }
}

/** The end of a recording's name tells it from the others. */
function short(name: string): string {
  return name.length > 90 ? `…${name.slice(-89)}` : name
}

function cellText(cell: { kept: number; all: number } | undefined): string {
  if (cell === undefined) return '–'
  const percent = Math.floor((1000 * cell.kept) / cell.all) / 10
  return `${percent} % of ${cell.all}`
}
