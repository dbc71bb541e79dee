import { columnsOf } from '../config/width.js'
import { type Paint, printable } from './io.js'

interface TableOptions {
  readonly head: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** How the line of headings looks. */
  readonly paint: Paint
  /** Rows shown; the rest is counted in a last line. */
  readonly maxRows?: number
}

/** Lays cells out in columns, two spaces apart, no trailing spaces. */
export function table({ head, rows, paint, maxRows = Number.POSITIVE_INFINITY }: TableOptions): string {
  const shown = rows.slice(0, maxRows).map(row => row.map(printable))
  const widths = head.map((title, column) => Math.max(title.length, ...shown.map(row => columnsOf(row[column] ?? ''))))
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - columnsOf(cell)))
      .join('  ')
      .trimEnd()
  const lines = [paint(line(head.map(title => title.toUpperCase()))), ...shown.map(line)]
  if (rows.length > shown.length) lines.push(`… and ${rows.length - shown.length} more`)
  return lines.join('\n')
}
