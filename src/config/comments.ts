import { Lexer } from 'yaml'

/** A comment of a YAML file. */
export interface Comment {
  /** Counts from 1. */
  readonly line: number
  /** Without the `#`. */
  readonly text: string
  /** Whether nothing else is on its line. */
  readonly isAlone: boolean
}

/** What the lexer puts before a text, which may begin with `#`; and its other marks, which are not in the file. */
const SCALAR = '\u001f'
const MARKS: ReadonlySet<string> = new Set([SCALAR, '\u0002', '\u0018'])

/** Every comment, as YAML understands it: a `#` inside a text does not start one. */
export function commentsOf(text: string): readonly Comment[] {
  const comments: Comment[] = []
  let [line, isText, isBlank] = [1, false, true]
  for (const lexeme of new Lexer().lex(text)) {
    if (MARKS.has(lexeme)) {
      isText = lexeme === SCALAR
      continue
    }
    if (!isText && lexeme.startsWith('#')) comments.push({ line, text: lexeme.slice(1).trim(), isAlone: isBlank })
    isText = false
    const breaks = lexeme.split('\n').length - 1
    line += breaks
    if (breaks > 0) isBlank = lexeme.endsWith('\n') || lexeme.slice(lexeme.lastIndexOf('\n')).trim() === ''
    else if (lexeme.trim() !== '') isBlank = false
  }
  return comments
}
