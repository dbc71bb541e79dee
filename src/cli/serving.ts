import type { Config } from '../core/config.js'
import type { Plan } from '../core/plan.js'
import type { Secret } from '../core/secret.js'
import type { Io } from './io.js'

/** A key of the data folder that this process uses. */
export interface KeptKey {
  readonly secret: Secret
  /** Where it is kept. */
  readonly file: string
  /** Whether this start made it. */
  readonly made: boolean
}

/** What a started gateway serves, and from where. */
export interface Serving {
  readonly plan: Plan
  readonly config: Config
  /** Keys of the data folder in use, by name. */
  readonly kept: ReadonlyMap<string, KeptKey>
  readonly origin: string
  readonly env: Io['env']
}

/** The variable that a secret was read from. The checked configuration holds the value alone. */
export function variableOf(value: string, env: Io['env']): string | undefined {
  return Object.keys(env).find(name => env[name] === value)
}
