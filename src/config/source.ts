import { folderOf } from '../core/config-place.js'
import type { Position } from '../core/problems.js'
import { lastNotOver } from '../core/search.js'
import { holdsSecret } from './secret-lines.js'

/** Lines over this many characters are not shown in problems. */
const MAX_EXCERPT_CHARS = 500

/** The text of one file, with the way from offsets to positions that people count. */
export class Source {
  /** Absolute path, or an address. */
  readonly file: string
  readonly text: string
  readonly #starts: readonly number[]

  constructor(file: string, text: string) {
    this.file = file
    this.text = text
    this.#starts = lineStarts(text)
  }

  /** Where relative paths in it begin. */
  get folder(): string {
    return folderOf(this.file)
  }

  /** Line and column of an offset in UTF-16 units; columns count characters. */
  position(offset: number): Position {
    const line = this.#lineAt(offset)
    const before = this.text.slice(this.#starts[line - 1] ?? 0, offset)
    return { file: this.file, line, column: [...before].length + 1 }
  }

  /** How far an offset is from the start of its line, in UTF-16 units. */
  offsetInLine(offset: number): number {
    return offset - (this.#starts[this.#lineAt(offset) - 1] ?? 0)
  }

  /** How many characters of the range are on its first line; at least 1. */
  length(start: number, end: number): number {
    const newline = this.text.indexOf('\n', start)
    const stop = newline === -1 ? end : Math.min(end, newline)
    return Math.max(1, [...this.text.slice(start, stop).trimEnd()].length)
  }

  /** The text of a line (from 1) without its line end; empty beyond the last. */
  line(number: number): string {
    const start = this.#starts[number - 1]
    if (start === undefined) return ''
    const end = this.#starts[number]
    return this.text.slice(start, end === undefined ? undefined : end - 1).replace(/\r$/, '')
  }

  /** Offset at which a line (from 1) starts; the end of the text beyond the last. */
  startOf(number: number): number {
    return this.#starts[number - 1] ?? this.text.length
  }

  /** A line as problems may show it: `undefined` where it is blank, very long, or may hold a secret. */
  excerpt(number: number): string | undefined {
    const line = this.line(number)
    if (line.trim() === '' || line.length > MAX_EXCERPT_CHARS || holdsSecret(this, number)) return undefined
    return line
  }

  #lineAt(offset: number): number {
    return lastNotOver(this.#starts, offset) + 1
  }
}

function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}
