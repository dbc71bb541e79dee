import { load } from '../config/load.js'
import { compileSchema } from '../config/schemas.js'
import type { Config, LogLevel } from '../core/config.js'
import type { Plan } from '../core/plan.js'
import type { Problem } from '../core/problems.js'
import type { Secret } from '../core/secret.js'
import { compile } from '../plan/compile.js'

export interface Overrides {
  readonly host?: string
  readonly port?: number
  readonly logLevel?: LogLevel
}

export interface LoadOptions {
  /** The configuration file, absolute or relative to the working directory. */
  readonly file: string
  readonly env: Readonly<Record<string, string | undefined>>
  /** Settings of the command line; they win over the file. */
  readonly overrides?: Overrides
  /** Gives the kept key of that name, made on first start; absent where keys are not to be made (`validate`). */
  readonly generated?: (keyName: string, dataFolder: string) => Secret | undefined
}

export interface LoadedPlan {
  /** Undefined where any problem is an error. */
  readonly plan: Plan | undefined
  readonly config: Config | undefined
  readonly problems: readonly Problem[]
  /** Files to watch. */
  readonly sources: readonly string[]
  /** Folders in which new files may appear. */
  readonly watch: readonly string[]
  readonly digest: string
}

/** File to plan: what `validate` does, and `serve` before it starts. */
export async function loadPlan(options: LoadOptions): Promise<LoadedPlan> {
  const { file, env, overrides, generated } = options
  const loaded = await load(overrides === undefined ? { file, env } : { file, env, overrides })
  const { config, sources, watch, digest } = loaded
  if (config === undefined) return { plan: undefined, config, problems: loaded.problems, sources, watch, digest }
  const compiled = compile(config, digest, {
    compileSchema,
    generated: name => generated?.(name, config.store.path),
  })
  const problems = compiled.problems.map((problem): Problem => ({ ...problem, ...loaded.locate(problem.path) }))
  const failed = problems.some(problem => problem.severity === 'error')
  return {
    plan: failed ? undefined : compiled.plan,
    config,
    problems: [...loaded.problems, ...problems],
    sources,
    watch,
    digest,
  }
}
