import type { Problem } from '../core/problems.js'

/** The configuration does not compile; nothing was started. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(`the configuration has ${problems.length} problem(s)`)
    this.problems = problems
  }
}

/** The process cannot start, for a reason outside the configuration's text. The message is one clear line. */
export class StartError extends Error {
  override readonly name = 'StartError'
  /** Another process has the address. */
  readonly isInUse: boolean

  constructor(message: string, isInUse = false) {
    super(message)
    this.isInUse = isInUse
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
