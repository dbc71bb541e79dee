/** A place in a source file. Lines and columns count from 1; columns count characters, not bytes. */
export interface Position {
  readonly file: string
  readonly line: number
  readonly column: number
}

/** One thing that is wrong with a configuration. */
export interface Problem {
  readonly severity: 'error' | 'warning' | 'note'
  /** A stable name of the rule: `unknown-key`, `dangling-reference`, … */
  readonly rule: string
  /** Where in the document, as people write it: `models.swift-large[1].upstream`. Empty for the whole file. */
  readonly path: string
  readonly message: string
  /** What the author probably meant, a single name. */
  readonly suggestion?: string | undefined
  readonly position: Position
  /** How many characters the caret underlines; at least 1. */
  readonly length: number
  /** The text of the line at fault. Never set where the line holds a secret. */
  readonly excerpt?: string | undefined
}
