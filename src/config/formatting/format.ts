import { isDeepStrictEqual } from 'node:util'
import type { Problem } from '../../core/problems.js'
import { parse } from '../parse.js'
import { Report } from '../report.js'
import { Source } from '../source.js'
import { tokensOf } from '../yaml-tokens.js'
import { layOut } from './layout.js'
import { piecesOf } from './pieces.js'

/** A file in the one style, or the reasons why it stays as it is. */
export type Formatted = { readonly text: string } | { readonly problems: readonly Problem[] }

/**
 * Formats a YAML file. Values, comments and order stay: what was written is read again and compared, and a file that would
 * come out with another value or other comments is refused.
 */
export function formatYaml(file: string, text: string): Formatted {
  const source = new Source(file, text)
  const report = new Report()
  const before = parse(source, false, report)
  if (before === undefined || report.failed) return { problems: report.sorted() }
  const laid = layOut(piecesOf(tokensOf(text), text))
  const after = parse(new Source(file, laid), false, new Report())
  const isSame =
    after !== undefined &&
    isDeepStrictEqual(after.tree.value, before.tree.value) &&
    isDeepStrictEqual(commentsOf([...tokensOf(laid)]), commentsOf([...tokensOf(text)]))
  if (isSame) return { text: laid }
  const message = 'this file cannot be formatted without changing what it says; it stays as it is'
  const position = { file, line: 1, column: 1 }
  return { problems: [{ severity: 'error', rule: 'unformattable', path: '', message, position, length: 1 }] }
}

/** The comments of tokens, wherever the parser keeps them, in their order. */
function commentsOf(tokens: unknown): readonly string[] {
  if (Array.isArray(tokens)) return tokens.flatMap(commentsOf)
  if (typeof tokens !== 'object' || tokens === null) return []
  if ('type' in tokens && tokens.type === 'comment' && 'source' in tokens) return [String(tokens.source).trimEnd()]
  return Object.values(tokens).flatMap(commentsOf)
}
