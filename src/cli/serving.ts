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
  /** Where the admin API listens, if it does. */
  readonly adminOrigin?: string | undefined
  readonly env: Io['env']
  readonly fromFiles?: Io['fromFiles']
}

export interface Variable {
  readonly name: string
  /** The file of variables that has it, where the shell has not. */
  readonly file: string | undefined
}

/** The variable that a secret was read from, one of the shell's where there is one. The checked configuration holds the value alone. */
export function variableOf(
  value: string,
  { env, fromFiles }: Pick<Serving, 'env' | 'fromFiles'>,
): Variable | undefined {
  const names = Object.keys(env).filter(one => env[one] === value)
  const name = names.find(one => fromFiles?.has(one) !== true) ?? names[0]
  return name === undefined ? undefined : { name, file: fromFiles?.get(name) }
}
