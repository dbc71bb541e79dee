import type { Config, ModelConfig } from '../core/config.js'
import type { Choice } from '../core/plan.js'
import type { Declared, ModelIndex } from './models.js'
import { isName } from './names.js'
import { Recent } from './recent.js'
import type { Speaker } from './upstreams.js'
import { choose, type Offer, type Ways, waysOf } from './ways.js'

/** How many names that only globs match are kept ready; others cost a walk over the globs. */
const READY = 1024

/** What the parts of a plan share while it is compiled. */
export interface Parts {
  readonly config: Config
  readonly speakers: ReadonlyMap<string, Speaker>
  readonly index: ModelIndex
}

/** What answers on a route: the ways to serve a name, and what its calls ask of the route. */
export interface Service {
  resolve(model: string): Choice | undefined
  /** Names that its calls have to be filled in with, each with a call that has it. */
  readonly needs: ReadonlyMap<string, string>
}

/** The models' targets that speak one protocol. Routes that say the same of their exchanges share it. */
export class ModelService implements Service {
  readonly #index: ModelIndex
  readonly #ways: ReadonlyMap<Declared, Ways>
  readonly #exact = new Map<string, Choice>()
  readonly #recent = new Recent<Choice>(READY)
  readonly needs: ReadonlyMap<string, string>

  constructor({ config, speakers, index }: Parts, offer: Offer) {
    this.#index = index
    this.#ways = new Map(index.declared.map(model => [model, waysOf(model.config, offer, speakers, config)]))
    const needs = needsOf([...this.#ways.values()])
    needs.delete('model')
    this.needs = needs
    for (const { name } of index.exact) {
      const choice = this.#choose(name)
      if (choice !== undefined) this.#exact.set(name, choice)
    }
  }

  resolve(name: string): Choice | undefined {
    const ready = this.#exact.get(name) ?? this.#recent.get(name)
    if (ready !== undefined || !isName(name)) return ready
    const choice = this.#choose(name)
    if (choice !== undefined) this.#recent.set(name, choice)
    return choice
  }

  #choose(name: string): Choice | undefined {
    const found = this.#index.find(name)
    return found && choose(this.#ways.get(found.model) ?? [], name, found)
  }
}

/** The same upstreams, whatever is asked: for routes whose requests name no model. */
abstract class UnnamedService implements Service {
  readonly #choice: Choice | undefined
  readonly needs: ReadonlyMap<string, string>

  constructor({ config, speakers }: Parts, offer: Offer, upstreams: readonly string[]) {
    const targets = upstreams.map(upstream => ({ upstream, traits: {}, request: [], response: [] }))
    const settings = { request: [], response: [], timeouts: {}, retry: {}, traits: {}, strict: false }
    const model: ModelConfig = { targets, ...settings }
    const ways = waysOf(model, offer, speakers, config)
    this.needs = needsOf([ways])
    this.#choice = choose(ways, '', { model: { name: '', config: model }, star: undefined })
  }

  resolve(name: string): Choice | undefined {
    return name === '' ? this.#choice : undefined
  }
}

/** One upstream. */
export class FixedService extends UnnamedService {
  constructor(parts: Parts, offer: Offer, upstream: string) {
    super(parts, offer, [upstream])
  }
}

/** Every upstream that may hold things for callers, in the order of the file. */
export class HolderService extends UnnamedService {
  constructor(parts: Parts, offer: Offer) {
    super(parts, offer, [...parts.speakers.keys()])
  }
}

function needsOf(ways: readonly Ways[]): Map<string, string> {
  const calls = new Set(ways.flat(2).flatMap(({ endpoint }) => [endpoint.call, endpoint.stream]))
  return new Map([...calls].flatMap(call => call.variables.map(name => [name, call.text])))
}
