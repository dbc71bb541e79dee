import type { CST } from 'yaml'
import { quotesOf } from './quotes.js'

/** A block collection that is open: the column of its entries as written, and as they will be. */
export interface Level {
  readonly old: number
  readonly column: number
}

/** What a file consists of, in its order. Spaces are not kept: the layout decides on them. */
export type Piece =
  | { readonly type: 'newline' }
  | { readonly type: 'comment'; readonly source: string; readonly old: number }
  | ContentPiece

interface Place {
  /** Where it goes if it begins a line. */
  readonly indent: number
  readonly old: number
  /** The collections that it is inside, outermost first. */
  readonly levels: readonly Level[]
}

export type ContentPiece = Place &
  (
    | { readonly type: 'text'; readonly source: string; readonly glued: boolean }
    | { readonly type: 'flow'; readonly token: CST.FlowCollection }
    | { readonly type: 'block'; readonly header: string; readonly source: string; readonly parent: Level }
  )

export const INDENT = 2

/** Takes the parser's tokens apart. Blank space is left out; each line break is a piece. */
export function piecesOf(tokens: Iterable<CST.Token>, text: string): readonly Piece[] {
  const pieces = new Pieces(text)
  for (const token of tokens) pieces.add(token, [])
  return pieces.found
}

class Pieces {
  readonly found: Piece[] = []
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  add(token: CST.Token, levels: readonly Level[]): void {
    if (token.type === 'document') {
      this.#all(token.start, levels)
      if (token.value !== undefined) this.add(token.value, levels)
      this.#all(token.end, levels)
    } else if (token.type === 'block-map' || token.type === 'block-seq') {
      this.#collection(token, levels)
    } else if (token.type === 'flow-collection') {
      this.found.push({ type: 'flow', token, indent: inside(levels), old: this.#column(token.offset), levels })
      this.#all(token.end.slice(1), levels)
    } else if (token.type === 'block-scalar') {
      this.#blockScalar(token, levels)
    } else if (isScalar(token)) {
      this.#content(quotesOf(token), token.offset, levels, inside(levels))
      this.#all(token.end, levels)
    } else if ('indent' in token) {
      this.#small(token, levels)
    } else {
      this.#content(token.source, token.offset, levels, 0)
    }
  }

  #collection(token: CST.BlockMap | CST.BlockSequence, levels: readonly Level[]): void {
    const own = [...levels, { old: this.#oldColumn(token), column: inside(levels) }]
    for (const { start, key, sep, value } of token.items) {
      const hasDash = start.findIndex(({ type }) => type === 'seq-item-ind')
      for (const [at, one] of start.entries()) this.#small(one, own, hasDash !== -1 && at > hasDash)
      if (key != null) this.#key(key, own)
      for (const one of sep ?? []) this.#small(one, own, one.type !== 'map-value-ind')
      if (value !== undefined) this.add(value, own)
    }
  }

  /** A key begins at the column of its collection, not inside it. */
  #key(key: CST.Token, own: readonly Level[]): void {
    const before = this.found.length
    this.add(key, own)
    const first = this.found[before]
    if (first !== undefined && 'indent' in first) this.found[before] = { ...first, indent: own.at(-1)?.column ?? 0 }
  }

  #small({ type, source, offset }: CST.SourceToken, levels: readonly Level[], isInside = false): void {
    if (type === 'space' || type === 'byte-order-mark') return
    if (type === 'newline') {
      this.found.push({ type: 'newline' })
      return
    }
    if (type === 'comment') {
      this.found.push({ type: 'comment', source: source.trimEnd(), old: this.#column(offset) })
      return
    }
    const indent = isInside ? inside(levels) : (levels.at(-1)?.column ?? 0)
    this.#content(source, offset, levels, indent, type === 'map-value-ind')
  }

  #content(source: string, offset: number, levels: readonly Level[], indent: number, glued = false): void {
    this.found.push({ type: 'text', source, glued, indent, old: this.#column(offset), levels })
  }

  #blockScalar({ props, source, offset }: CST.BlockScalar, levels: readonly Level[]): void {
    const parent = levels.at(-1) ?? { old: 0, column: 0 }
    let header = ''
    for (const one of props) {
      if (one.type === 'block-scalar-header') header = one.source
      else if (one.type === 'comment') header += ` ${one.source.trimEnd()}`
      else if (one.type !== 'newline' && one.type !== 'space') this.add(one, levels)
    }
    this.found.push({
      type: 'block',
      header,
      source,
      parent,
      indent: inside(levels),
      old: this.#column(offset),
      levels,
    })
  }

  #all(tokens: readonly CST.SourceToken[] | undefined, levels: readonly Level[]): void {
    for (const one of tokens ?? []) this.#small(one, levels)
  }

  #oldColumn({ items, indent }: CST.BlockMap | CST.BlockSequence): number {
    for (const { start, key } of items) {
      const mark = start.find(({ type }) => type === 'seq-item-ind' || type === 'explicit-key-ind')
      if (mark !== undefined) return this.#column(mark.offset)
      const props = start.find(({ type }) => type === 'anchor' || type === 'tag')
      if (props !== undefined) return this.#column(props.offset)
      if (key != null) return this.#column(key.offset)
    }
    return indent
  }

  #column(offset: number): number {
    return offset - (this.#text.lastIndexOf('\n', offset - 1) + 1)
  }
}

/** The column of what is inside the innermost collection. */
function inside(levels: readonly Level[]): number {
  const last = levels.at(-1)
  return last === undefined ? 0 : last.column + INDENT
}

function isScalar(token: CST.Token): token is CST.FlowScalar {
  return token.type === 'alias' || token.type === 'scalar' || token.type.endsWith('-quoted-scalar')
}
