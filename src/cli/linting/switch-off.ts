import { type Comment, commentsOf } from '../../config/comments.js'
import { Source } from '../../config/source.js'
import type { Problem } from '../../core/problems.js'
import type { Explained } from './rule.js'

const UNKNOWN = 'unknown-rule'
const NEEDLESS = 'needless-lint-off'

export const SWITCH_RULES: readonly Explained[] = [
  {
    id: UNKNOWN,
    severity: 'warning',
    finds: 'a comment that switches off a rule that does not exist',
    why: 'It switches off nothing.',
    mend: 'Take an id of `gateway lint --rules`.',
  },
  {
    id: NEEDLESS,
    severity: 'note',
    finds: 'a comment that switches off a rule which finds nothing there',
    why: 'It would hide the next finding that someone makes in this place.',
    mend: 'Delete the comment.',
  },
]

/** `lint-off: rule, rule (why)`; `lint-off-file` holds for the whole file. */
const SWITCH = /^lint-off(?<whole>-file)?:(?<rest>.*)/
const ID = /^\s*([\w-]+)\s*/

interface Switch {
  readonly comment: Comment
  readonly id: string
  /** The lines that it holds for. */
  readonly first: number
  readonly last: number
}

/** The switches of one file, and which of them have been of use. */
export class Switches {
  readonly #source: Source
  readonly #switches: readonly Switch[]
  readonly #used = new Set<Switch>()

  constructor(file: string, text: string) {
    this.#source = new Source(file, text)
    const lines = text.split(/\r?\n/)
    this.#switches = commentsOf(text).flatMap(comment => switchesOf(comment, lines))
  }

  covers({ rule, position }: Problem): boolean {
    const found = this.#switches.filter(
      ({ id, first, last }) => id === rule && first <= position.line && position.line <= last,
    )
    for (const one of found) this.#used.add(one)
    return found.length > 0
  }

  /** To be asked when all problems have been looked at. */
  *faults(known: ReadonlySet<string>): Generator<Problem> {
    for (const one of this.#switches) {
      if (!known.has(one.id)) yield this.#problem(one, UNKNOWN, 'warning', `there is no rule ${JSON.stringify(one.id)}`)
      else if (!this.#used.has(one))
        yield this.#problem(one, NEEDLESS, 'note', `${JSON.stringify(one.id)} finds nothing here`)
    }
  }

  #problem({ comment, id }: Switch, rule: string, severity: Problem['severity'], message: string): Problem {
    const line = this.#source.line(comment.line)
    const at = Math.max(0, line.lastIndexOf(id))
    const excerpt = this.#source.excerpt(comment.line)
    const position = this.#source.position(this.#source.startOf(comment.line) + at)
    return {
      severity,
      rule,
      path: '',
      message,
      position,
      length: id.length,
      ...(excerpt === undefined ? {} : { excerpt }),
    }
  }
}

function switchesOf(comment: Comment, lines: readonly string[]): readonly Switch[] {
  const { whole, rest } = SWITCH.exec(comment.text)?.groups ?? {}
  if (rest === undefined) return []
  const range = whole === undefined ? entryAt(comment, lines) : { first: 1, last: lines.length }
  return idsOf(rest).map(id => ({ comment, id, ...range }))
}

/** The ids, with commas between them; what follows says why. */
function idsOf(rest: string): readonly string[] {
  const ids: string[] = []
  for (const part of rest.split(',')) {
    const [found, id] = ID.exec(part) ?? []
    if (found === undefined || id === undefined) return ids
    ids.push(id)
    if (found.length < part.length) return ids
  }
  return ids
}

/** The line of the comment, or the first one below it that says something, and what is indented below that. */
function entryAt(
  { line, isAlone }: Comment,
  lines: readonly string[],
): { readonly first: number; readonly last: number } {
  let first = line
  if (isAlone) while (first < lines.length && isEmpty(lines[first - 1])) first++
  const indent = indentOf(lines[first - 1])
  let last = first
  for (let next = first + 1; next <= lines.length; next++) {
    if (isEmpty(lines[next - 1])) continue
    if (indentOf(lines[next - 1]) <= indent) break
    last = next
  }
  return { first, last }
}

function isEmpty(line = ''): boolean {
  return /^\s*(#|$)/.test(line)
}

function indentOf(line = ''): number {
  return line.length - line.trimStart().length
}
