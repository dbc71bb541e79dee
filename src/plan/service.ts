import type { Config, ModelConfig } from '../core/config.js'
import type { Choice } from '../core/plan.js'
import type { Steps } from '../core/steps.js'
import type { TaskKind } from '../core/task-kind.js'
import type { Found, ModelIndex } from './model-index.js'
import { isName } from './names.js'
import { Recent } from './recent.js'
import type { Endpoint, Speaker } from './upstreams.js'
import { choose, isServing, type Offer, servedBy, type Ways, waysOf } from './ways.js'

/** How many names are kept ready; others cost a look at their model, or a walk over the globs. */
const READY = 1024

/** What the parts of a plan share while it is compiled. */
export interface Parts {
  readonly config: Config
  readonly speakers: ReadonlyMap<string, Speaker>
  readonly index: ModelIndex
  readonly taskKinds: ReadonlyMap<string, TaskKind>
}

/** What answers on a route: the ways to serve a name, and what its calls ask of the route. */
export interface Service {
  resolve(model: string): Choice | undefined
  /** Whether {@link resolve} would give something, without making it. */
  serves(model: string): boolean
  /** Names that its calls have to be filled in with, each with a call that has it. */
  needs(): Steps<ReadonlyMap<string, string>>
}

/**
 * The models' targets that speak one protocol. Routes that say the same of their exchanges share it. Ways are made when they
 * are first asked for, once for all models of one shape, so that a plan of many models is soon ready and small.
 */
export class ModelService implements Service {
  readonly #parts: Parts
  readonly #offer: Offer
  /** By shape: never more than there are. */
  readonly #ways = new Map<ModelConfig, Ways>()
  readonly #recent = new Recent<Choice>(READY)
  #needs: ReadonlyMap<string, string> | undefined

  constructor(parts: Parts, offer: Offer) {
    this.#parts = parts
    this.#offer = offer
  }

  resolve(name: string): Choice | undefined {
    const ready = this.#recent.get(name)
    if (ready !== undefined) return ready
    const found = this.#find(name)
    const choice = found && choose(this.#waysOf(found.model.shape), name, found)
    if (choice !== undefined) this.#recent.set(name, choice)
    return choice
  }

  serves(name: string): boolean {
    const found = this.#find(name)
    return found !== undefined && isServing(this.#waysOf(found.model.shape), name, found)
  }

  *needs(): Steps<ReadonlyMap<string, string>> {
    this.#needs ??= yield* this.#findNeeds()
    return this.#needs
  }

  /** Targets of the same upstream that are asked alike ask the same of the route. */
  *#findNeeds(): Steps<ReadonlyMap<string, string>> {
    const { index, speakers } = this.#parts
    const seen = new Set<string>()
    const endpoints = new Set<Endpoint>()
    for (const model of index.shapes) {
      for (const target of model.targets) {
        const asked = JSON.stringify([target.upstream, target.traits, model.traits, model.serves])
        if (seen.has(asked)) continue
        seen.add(asked)
        const served = servedBy(target, model, this.#offer, speakers)
        if (served !== undefined) endpoints.add(served.endpoint)
      }
      yield
    }
    const needs = needsOf([...endpoints])
    needs.delete('model')
    return needs
  }

  #find(name: string): Found | undefined {
    const found = this.#parts.index.find(name)
    return found?.star === undefined || isName(name) ? found : undefined
  }

  #waysOf(shape: ModelConfig): Ways {
    const made = this.#ways.get(shape)
    if (made !== undefined) return made
    const { speakers, config } = this.#parts
    const ways = waysOf(shape, this.#offer, speakers, config)
    this.#ways.set(shape, ways)
    return ways
  }
}

/** The same upstreams, whatever is asked: for routes whose requests name no model. */
abstract class UnnamedService implements Service {
  readonly #choice: Choice | undefined
  readonly #needs: ReadonlyMap<string, string>

  constructor({ config, speakers }: Parts, offer: Offer, upstreams: readonly string[]) {
    const targets = upstreams.map(upstream => ({ upstream, traits: {}, request: [], response: [] }))
    const settings = { request: [], response: [], timeouts: {}, retry: {}, traits: {}, strict: false }
    const model: ModelConfig = { targets, ...settings }
    const ways = waysOf(model, offer, speakers, config)
    this.#needs = needsOf(ways.flat().map(({ endpoint }) => endpoint))
    this.#choice = choose(ways, '', { model: { name: '', config: model, shape: model }, star: undefined })
  }

  // biome-ignore lint/correctness/useYield: it is done in one step
  *needs(): Steps<ReadonlyMap<string, string>> {
    return this.#needs
  }

  serves(name: string): boolean {
    return this.resolve(name) !== undefined
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

function needsOf(endpoints: readonly Endpoint[]): Map<string, string> {
  const calls = new Set(endpoints.flatMap(({ call, stream }) => [call, stream]))
  return new Map([...calls].flatMap(call => call.variables.map(name => [name, call.text])))
}
