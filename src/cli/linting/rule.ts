import type { Config } from '../../core/config.js'
import type { DocumentPath } from '../../core/path-text.js'
import type { Plan } from '../../core/plan.js'
import type { Problem } from '../../core/problems.js'

/** What a rule is explained by; `validate` finds what has no more than this. */
export interface Explained {
  /** Stable: comments name it. */
  readonly id: string
  readonly severity: Problem['severity']
  /** What is found, in a clause. */
  readonly finds: string
  /** What can come of it. */
  readonly why: string
  /** What to write instead. */
  readonly mend: string
}

/** A rule that `gateway lint` checks itself. */
export interface Rule extends Explained {
  check(linted: Linted): Iterable<Finding>
}

export interface Linted {
  readonly config: Config
  readonly plan: Plan
  /** Milliseconds since the epoch. */
  readonly now: number
}

interface Finding {
  readonly path: DocumentPath
  readonly message: string
}

/** Names that one message lists. */
export const MAX_NAMED = 3

/** `"a", "b", "c" and 4 more` */
export function named(names: readonly string[], count = names.length): string {
  const shown = names
    .slice(0, MAX_NAMED)
    .map(name => JSON.stringify(name))
    .join(', ')
  return count > MAX_NAMED ? `${shown} and ${count - MAX_NAMED} more` : shown
}
