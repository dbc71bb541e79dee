/** Rows in columns, each as wide as its widest cell; two spaces between them, none at the end of a line. */
export function columns(rows: readonly (readonly string[])[], indent = ''): string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cell.length)
  }
  return rows.map(row => {
    const cells = row.map((cell, index) => cell.padEnd(widths[index] ?? 0))
    return `${indent}${cells.join('  ')}`.trimEnd()
  })
}

/** A heading with its lines below, or a word that there are none; lines come indented. */
export function section(title: string, lines: readonly string[]): string[] {
  return lines.length === 0 ? ['', `${title}  none`] : ['', title, ...lines]
}

/** `1.5s`, `5m`, `24h`: a duration as the configuration writes it. */
export function duration(milliseconds: number): string {
  const [unit, name] = UNITS.find(([size]) => milliseconds >= size && milliseconds % size === 0) ?? [1, 'ms']
  return `${milliseconds / unit}${name}`
}

const UNITS: readonly (readonly [number, string])[] = [
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1000, 's'],
]

/** A share in percent, to one decimal. */
export function percent(part: number, whole: number): number {
  return Math.round((part / whole) * 1000) / 10
}

/** `name: value` of each pair in a flat list. */
export function headerLines(flat: readonly string[]): readonly string[] {
  return flat.flatMap((name, index) => (index % 2 === 0 ? [`${name}: ${flat[index + 1]}`] : []))
}
