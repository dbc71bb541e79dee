import { layFlow } from './flow.js'
import { type ContentPiece, INDENT, type Level, type Piece } from './pieces.js'

/** Writes pieces in the one style: two spaces a level, one space between words, at most one blank line in a row. */
export function layOut(pieces: readonly Piece[]): string {
  const layout = new Layout()
  for (const [at, piece] of pieces.entries()) {
    if (piece.type === 'newline') layout.newline()
    else if (piece.type === 'comment') layout.comment(piece.source, piece.old, () => nextContent(pieces, at))
    else layout.content(piece)
  }
  return layout.text()
}

function nextContent(pieces: readonly Piece[], from: number): ContentPiece | undefined {
  for (let at = from + 1; at < pieces.length; at++) {
    const piece = pieces[at]
    if (piece !== undefined && 'levels' in piece) return piece
  }
  return undefined
}

class Layout {
  readonly #lines: string[] = []
  #line = ''
  #blank = false
  /** The collections that the last content was in. */
  #levels: readonly Level[] = []

  newline(): void {
    if (this.#line === '') this.#blank = this.#lines.length > 0
    else this.#end()
  }

  /** A comment on a line of its own moves with the entries around it. */
  comment(source: string, old: number, next: () => ContentPiece | undefined): void {
    if (this.#line === '') this.#begin(this.#columnOf(old, next()), source)
    else this.#line += ` ${source}`
  }

  content(piece: ContentPiece): void {
    this.#levels = piece.levels
    if (piece.type === 'block') this.#block(piece)
    else this.#inline(piece)
  }

  #inline(piece: Exclude<ContentPiece, { type: 'block' }>): void {
    const isFirst = this.#line === ''
    const column = isFirst ? piece.indent : this.#line.length + 1
    const lines = piece.type === 'flow' ? layFlow(piece.token, column, piece.indent) : textLines(piece)
    const [first = '', ...others] = lines
    if (isFirst) this.#begin(piece.indent, first)
    else this.#line += piece.type === 'text' && piece.glued && !/(^|\s)\*\S+$/.test(this.#line) ? first : ` ${first}`
    for (const line of others) {
      this.#end()
      this.#line = line
      if (line === '') this.#lines.push('')
    }
  }

  text(): string {
    if (this.#line !== '') this.#end()
    return this.#lines.map(line => `${line}\n`).join('')
  }

  #begin(indent: number, text: string): void {
    if (this.#blank) this.#lines.push('')
    this.#blank = false
    this.#line = ' '.repeat(indent) + text
  }

  #end(): void {
    if (this.#line !== '') this.#lines.push(this.#line)
    this.#line = ''
  }

  #block({ header, source, parent, indent }: ContentPiece & { type: 'block' }): void {
    const given = /[1-9]/.exec(header.split(' ')[0] ?? '')?.[0]
    const head = given === undefined ? header : header.replace(given, String(INDENT))
    if (this.#line === '') this.#begin(indent, head)
    else this.#line += ` ${head}`
    this.#end()
    const lines = source.replaceAll('\r\n', '\n').split('\n')
    if (lines.at(-1) === '') lines.pop()
    const first = lines.find(line => line.trim() !== '') ?? ''
    const written = given === undefined ? first.length - first.trimStart().length : parent.old + Number(given)
    const keepsEnd = header.split(' ')[0]?.includes('+') === true
    let last = lines.length
    while (!keepsEnd && last > 0 && lines[last - 1]?.trim() === '') last--
    for (const line of lines.slice(0, last)) {
      const rest = line.slice(written)
      this.#lines.push(rest === '' ? '' : ' '.repeat(indent) + rest)
    }
    this.#blank = last < lines.length
  }

  #columnOf(old: number, next: ContentPiece | undefined): number {
    if (next === undefined) return old === 0 ? 0 : nearest(old, this.#levels)
    const own = { old: next.old, column: next.indent }
    return next.old === old ? next.indent : nearest(old, [own, ...this.#levels])
  }
}

/** The column of the deepest level that begins no later than `old`, or of the first that there is. */
function nearest(old: number, levels: readonly Level[]): number {
  let best: Level | undefined
  for (const level of levels) {
    if (level.old <= old && (best === undefined || level.old >= best.old)) best = level
  }
  return best?.column ?? Math.min(...levels.map(({ column }) => column), 0)
}

/** The indentation of lines inside a text does not count. */
function textLines({ source, indent }: ContentPiece & { type: 'text' }): readonly string[] {
  const [first = '', ...others] = source.split(/\r?\n/)
  return [first, ...others.map(line => (line.trim() === '' ? '' : ' '.repeat(indent) + line.trimStart()))]
}
