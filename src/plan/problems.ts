import { type DocumentPath, pathText } from '../core/path-text.js'
import type { Problem } from '../core/problems.js'

/** Something that can only be seen once the parts are put together; `config` knows where the path is in a file. */
export type CompileProblem = Pick<Problem, 'path' | 'rule' | 'severity' | 'message'>

/** Collects problems, so that all of them are reported at once. */
export class Problems {
  readonly found: CompileProblem[] = []

  error(path: DocumentPath, rule: string, message: string): void {
    this.found.push({ path: pathText(path), rule, severity: 'error', message })
  }

  warning(path: DocumentPath, rule: string, message: string): void {
    this.found.push({ path: pathText(path), rule, severity: 'warning', message })
  }
}
