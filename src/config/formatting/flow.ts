import type { CST } from 'yaml'
import { INDENT } from './pieces.js'
import { quotesOf } from './quotes.js'

/** Longest line on which a list or mapping in brackets is put together. */
const MAX_LINE_CHARS = 120

type Part = 'open' | 'close' | 'comma' | 'colon' | 'text' | 'comment' | 'newline'

interface FlowToken {
  readonly part: Part
  readonly source: string
}

/**
 * A list or mapping in brackets that begins at `column`: one line where it fits, unless it has comments or begins with a
 * line break, which say that its lines are meant. The lines then stay, indented below `indent`.
 */
export function layFlow(collection: CST.FlowCollection, column: number, indent: number): readonly string[] {
  const tokens = flowTokens(collection)
  if (!keepsLines(tokens)) {
    const line = onOneLine(tokens)
    if (column + line.length <= MAX_LINE_CHARS || tokens.every(({ part }) => part !== 'newline')) return [line]
  }
  return onItsLines(tokens, indent)
}

function keepsLines(tokens: readonly FlowToken[]): boolean {
  return tokens.some(
    ({ part, source }, at) =>
      part === 'comment' || source.includes('\n') || (part === 'newline' && tokens[at - 1]?.part === 'open'),
  )
}

function onOneLine(tokens: readonly FlowToken[]): string {
  const written = tokens.filter(({ part }) => part !== 'newline')
  const kept = written.filter(({ part }, at) => part !== 'comma' || written[at + 1]?.part !== 'close')
  return joined(kept)
}

function onItsLines(tokens: readonly FlowToken[], indent: number): readonly string[] {
  const lines: string[] = []
  let begins = 0
  let depth = 0
  for (const line of linesOf(tokens)) {
    const closing = line.findIndex(({ part }) => part !== 'close')
    const closed = closing === -1 ? line.length : closing
    // Brackets that open together on one line indent once: what closes them is found at the line that closes the last.
    const at = lines.length === 0 ? 0 : indent + Math.max(0, Math.min(begins, depth) - (closed > 0 ? 1 : 0)) * INDENT
    const text = joined(line)
    if (text !== '' || lines.at(-1) !== '') lines.push(text === '' ? '' : ' '.repeat(at) + text)
    const change = line.reduce((sum, { part }) => sum + (part === 'open' ? 1 : part === 'close' ? -1 : 0), 0)
    depth += change
    begins = Math.max(0, begins + Math.sign(change))
  }
  return lines
}

function linesOf(tokens: readonly FlowToken[]): readonly (readonly FlowToken[])[] {
  const lines: FlowToken[][] = [[]]
  for (const token of tokens) {
    if (token.part === 'newline') lines.push([])
    else lines.at(-1)?.push(token)
  }
  return lines
}

function joined(tokens: readonly FlowToken[]): string {
  return tokens.reduce((line, token, at) => {
    const before = tokens[at - 1]
    return before === undefined ? token.source : line + (isApart(before, token) ? ' ' : '') + token.source
  }, '')
}

function isApart(before: FlowToken, token: FlowToken): boolean {
  if (token.part === 'comma') return false
  if (token.part === 'colon') return before.source.startsWith('*')
  if (before.part === 'open') return before.source === '{' ? token.source !== '}' : token.part === 'comment'
  return token.part !== 'close' || token.source === '}'
}

function flowTokens(collection: CST.FlowCollection): readonly FlowToken[] {
  const found: FlowToken[] = []
  const add = (token: CST.Token): void => {
    if (token.type === 'flow-collection') {
      found.push({ part: 'open', source: token.start.source })
      for (const { start, key, sep, value } of token.items) {
        for (const one of [...start, ...(key == null ? [] : [key]), ...(sep ?? []), ...(value ? [value] : [])]) add(one)
      }
      for (const one of token.end) add(one)
    } else if ('source' in token) {
      const part = partOf(token.type)
      if (part !== undefined) found.push({ part, source: quotesOf(token).trimEnd() })
      if ('end' in token) for (const one of token.end ?? []) add(one)
    }
  }
  add({ ...collection, end: collection.end.slice(0, 1) })
  return found
}

function partOf(type: CST.Token['type']): Part | undefined {
  if (type === 'space') return undefined
  if (type === 'newline' || type === 'comment' || type === 'comma') return type
  if (type === 'map-value-ind') return 'colon'
  return type === 'flow-map-end' || type === 'flow-seq-end' ? 'close' : 'text'
}
