import { isAbsolute, relative } from 'node:path'
import { isAddress } from '../core/config-place.js'
import type { Problem } from '../core/problems.js'
import { blankLike, columnsOf } from './width.js'

/** Problems beyond this number are counted, not shown. */
const MAX_SHOWN_PROBLEMS = 200

/** Control characters and marks that turn the direction of writing: a file must not steer the reader's terminal. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is removed
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

interface Paint {
  readonly place: (text: string) => string
  readonly error: (text: string) => string
  readonly warning: (text: string) => string
  readonly margin: (text: string) => string
}

const PLAIN: Paint = { place: same, error: same, warning: same, margin: same }
const COLOURED: Paint = { place: sgr(1), error: sgr(31), warning: sgr(33), margin: sgr(2) }

/**
 * Problems as people read them, each
 * ```
 * file:line:column  path  message
 *   12 |     bsae: https://north.example
 *      |     ^^^^
 *      did you mean "base"?
 * ```
 * Files below the working directory are shown relative to it. The text ends with a newline unless it is empty.
 */
export function formatProblems(problems: readonly Problem[], options: { readonly color: boolean }): string {
  const paint = options.color ? COLOURED : PLAIN
  const shown = problems.slice(0, MAX_SHOWN_PROBLEMS).map(problem => format(problem, paint))
  const hidden = problems.length - shown.length
  if (hidden > 0) shown.push(`… and ${hidden} more\n`)
  return shown.join('\n')
}

/** A file's path as people see it: relative to the working directory where it lies below it. */
export function shownFile(file: string): string {
  if (isAddress(file)) return file
  const path = relative(process.cwd(), file)
  return path === '' || path.startsWith('..') || isAbsolute(path) ? file : path
}

/** A name in quotes; a list or mapping as YAML. */
export function quotedSuggestion(suggestion: string): string {
  return /^[[{]/.test(suggestion) ? suggestion : `"${suggestion}"`
}

function format(problem: Problem, paint: Paint): string {
  const { file, line, column } = problem.position
  const mark = problem.severity === 'error' ? paint.error : paint.warning
  const message = problem.severity === 'error' ? problem.message : `${problem.severity}: ${problem.message}`
  const head = [paint.place(`${shownFile(file)}:${line}:${column}`), safe(problem.path), mark(safe(message))]
  const lines = [head.filter(part => part !== '').join('  ')]
  const margin = ' '.repeat(String(line).length)
  if (problem.excerpt !== undefined) {
    const text = safe(problem.excerpt)
    lines.push(
      `  ${paint.margin(`${line} |`)} ${text}`,
      `  ${paint.margin(`${margin} |`)} ${mark(caret(text, problem))}`,
    )
  }
  if (problem.suggestion !== undefined)
    lines.push(`  ${margin}   did you mean ${safe(quotedSuggestion(problem.suggestion))}?`)
  return `${lines.join('\n')}\n`
}

function caret(text: string, problem: Problem): string {
  const characters = [...text]
  const start = problem.position.column - 1
  const marked = characters.slice(start, start + problem.length).join('')
  return blankLike(characters.slice(0, start).join('')) + '^'.repeat(Math.max(1, columnsOf(marked)))
}

function safe(text: string): string {
  return text.replace(UNSAFE, '\ufffd')
}

function same(text: string): string {
  return text
}

function sgr(code: number): (text: string) => string {
  return text => (text.trim() === '' ? text : `\u001b[${code}m${text}\u001b[0m`)
}
