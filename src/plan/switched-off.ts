import type { Upstream } from '../core/plan.js'
import type { SwitchedOff } from '../core/switched-off.js'
import type { ModelIndex } from './model-index.js'

/** What a plan declares and does not serve, because upstreams are off. Models are looked through when first asked for. */
export class OffList implements SwitchedOff {
  readonly upstreams: ReadonlyMap<string, string>
  readonly #index: ModelIndex
  #models: ReadonlyMap<string, string> | undefined

  constructor(index: ModelIndex, upstreams: Iterable<Pick<Upstream, 'name' | 'off'>>) {
    this.#index = index
    this.upstreams = new Map([...upstreams].flatMap(({ name, off }) => (off === undefined ? [] : [[name, off]])))
  }

  get models(): ReadonlyMap<string, string> {
    this.#models ??= new Map(
      this.upstreams.size === 0
        ? []
        : this.#index.declared.flatMap(({ name, config }): [string, string][] => {
            const reason = this.reason(config.targets.map(target => target.upstream))
            return reason === undefined ? [] : [[name, reason]]
          }),
    )
    return this.#models
  }

  whyNot(model: string): string | undefined {
    const found = this.#index.find(model)
    if (found === undefined) return 'no model has this name'
    return this.reason(found.model.config.targets.map(target => target.upstream))
  }

  reason(upstreams: readonly string[]): string | undefined {
    const reasons = [...new Set(upstreams)].map(name => {
      const off = this.upstreams.get(name)
      return off === undefined ? undefined : `the upstream ${name} is off: ${off}`
    })
    return reasons.length === 0 || reasons.includes(undefined) ? undefined : reasons.join('; ')
  }
}
