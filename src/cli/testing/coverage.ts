import type { Config } from '../../core/config.js'
import { Glob } from '../../core/glob.js'
import type { Ran } from './run-test.js'

/** Most names of a list in a line. */
const MAX_NAMES = 10

/** What of a configuration the tests have touched: models, their targets, keys. */
export class Coverage {
  readonly #config: Pick<Config, 'models' | 'keys'>
  readonly #models = new Set<string>()
  readonly #targets = new Set<string>()
  readonly #keys = new Set<string>()

  constructor(config: Pick<Config, 'models' | 'keys'>) {
    this.#config = config
  }

  add({ models, targets, keys }: Ran): void {
    for (const model of models) this.#models.add(this.#declared(model))
    for (const [model, upstream] of targets) this.#targets.add(targetName(this.#declared(model), upstream))
    for (const key of keys) this.#keys.add(key)
  }

  /** The name in the file, which may be a glob. */
  #declared(model: string): string {
    const names = Object.keys(this.#config.models)
    return names.includes(model) ? model : (names.find(name => new Glob(name).matches(model)) ?? model)
  }

  /** A line for each kind of thing, with what no test has touched. */
  get lines(): readonly string[] {
    const { models, keys } = this.#config
    const targets = Object.entries(models).flatMap(([name, model]) =>
      model.targets.map(({ upstream }) => targetName(name, upstream)),
    )
    return [
      line('models are asked for by name', Object.keys(models), this.#models),
      line('targets are called', [...new Set(targets)], this.#targets),
      line('keys call', Object.keys(keys), this.#keys),
    ]
  }
}

function targetName(model: string, upstream: string): string {
  return `${model} at ${upstream}`
}

function line(what: string, all: readonly string[], touched: ReadonlySet<string>): string {
  const rest = all.filter(name => !touched.has(name))
  const names = rest.slice(0, MAX_NAMES).join(', ')
  const more = rest.length > MAX_NAMES ? ` and ${rest.length - MAX_NAMES} more` : ''
  const sum = `${all.length - rest.length} of ${all.length} ${what}`
  return rest.length === 0 ? sum : `${sum}; not ${names}${more}`
}
