import type { Config, ModelConfig } from '../core/config.js'
import { LruCache } from '../core/lru.js'
import type { Choice } from '../core/plan.js'
import type { Steps } from '../core/steps.js'
import type { TaskKind } from '../core/task-kind.js'
import { type CandidateGroups, candidatesOf, choose, type ExchangeSettings, isServing, servedBy } from './candidates.js'
import type { Found, ModelIndex } from './model-index.js'
import { isName } from './names.js'
import type { RouteTariffs, Tariffs } from './tariffs.js'
import type { CompiledUpstream, Endpoint } from './upstreams.js'

/** Cached names per half of the cache. Another name costs a lookup of its model, or a walk over the globs. */
const CACHE_HALF_NAMES = 1024

/** What the parts of a plan share while it is compiled. */
export interface Parts {
  readonly config: Config
  readonly compiledUpstreams: ReadonlyMap<string, CompiledUpstream>
  readonly index: ModelIndex
  readonly taskKinds: ReadonlyMap<string, TaskKind>
  readonly tariffs?: Tariffs | undefined
}

/** Serves a route: resolves model names, and lists the parameters that its upstream calls take from the route. */
export interface Service {
  resolve(model: string): Choice | undefined
  /** Whether {@link resolve} would give something, without making it. */
  serves(model: string): boolean
  /** Parameters that its upstream calls interpolate, each with a call that contains it. */
  needs(): Steps<ReadonlyMap<string, string>>
}

/**
 * The models' targets that support one protocol. Routes with equal exchange settings share a service. Candidates are compiled
 * on first use, once for all models of one shape, so that a plan with many models compiles fast and stays small.
 */
export class ModelService implements Service {
  readonly #parts: Parts
  readonly #settings: ExchangeSettings
  readonly #tariffs: RouteTariffs | undefined
  /** By shape. */
  readonly #groups = new Map<ModelConfig, CandidateGroups>()
  readonly #choices = new LruCache<Choice>(CACHE_HALF_NAMES)
  #needs: ReadonlyMap<string, string> | undefined

  constructor(parts: Parts, settings: ExchangeSettings) {
    this.#parts = parts
    this.#settings = settings
    this.#tariffs = parts.tariffs?.on(settings.protocol)
  }

  resolve(name: string): Choice | undefined {
    const ready = this.#choices.get(name)
    if (ready !== undefined) return ready
    const found = this.#find(name)
    const choice = found && choose(this.#groupsOf(found.model.shape), name, found, this.#tariffs)
    if (choice !== undefined) this.#choices.set(name, choice)
    return choice
  }

  serves(name: string): boolean {
    const found = this.#find(name)
    return found !== undefined && isServing(this.#groupsOf(found.model.shape), name, found)
  }

  *needs(): Steps<ReadonlyMap<string, string>> {
    this.#needs ??= yield* this.#findNeeds()
    return this.#needs
  }

  /** Targets of one upstream with equal traits need the same parameters, so each combination is checked once. */
  *#findNeeds(): Steps<ReadonlyMap<string, string>> {
    const { index, compiledUpstreams } = this.#parts
    const seen = new Set<string>()
    const endpoints = new Set<Endpoint>()
    for (const model of index.shapes) {
      for (const target of model.targets) {
        const asked = JSON.stringify([target.upstream, target.traits, model.traits, model.protocols])
        if (seen.has(asked)) continue
        seen.add(asked)
        const served = servedBy(target, model, this.#settings, compiledUpstreams)
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

  #groupsOf(shape: ModelConfig): CandidateGroups {
    const made = this.#groups.get(shape)
    if (made !== undefined) return made
    const { compiledUpstreams, config } = this.#parts
    const groups = candidatesOf(shape, this.#settings, compiledUpstreams, config)
    this.#groups.set(shape, groups)
    return groups
  }
}

/** A fixed list of upstreams, for routes whose requests name no model. */
abstract class UnnamedService implements Service {
  readonly #choice: Choice | undefined
  readonly #needs: ReadonlyMap<string, string>

  constructor({ config, compiledUpstreams, tariffs }: Parts, settings: ExchangeSettings, upstreams: readonly string[]) {
    const targets = upstreams.map(upstream => ({ upstream, traits: {}, request: [], response: [] }))
    const model: ModelConfig = {
      targets,
      request: [],
      response: [],
      timeouts: {},
      retry: {},
      traits: {},
      strict: false,
    }
    const groups = candidatesOf(model, settings, compiledUpstreams, config)
    this.#needs = needsOf(groups.flat().map(({ endpoint }) => endpoint))
    const found: Found = { model: { name: '', config: model, shape: model }, star: undefined }
    this.#choice = choose(groups, '', found, tariffs?.on(settings.protocol))
  }

  // biome-ignore lint/correctness/useYield: completes in one step
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
  constructor(parts: Parts, settings: ExchangeSettings, upstream: string) {
    super(parts, settings, [upstream])
  }
}

/** Every upstream that may keep resources for callers, in the order of the file. */
export class ResourceService extends UnnamedService {
  constructor(parts: Parts, settings: ExchangeSettings) {
    super(parts, settings, [...parts.compiledUpstreams.keys()])
  }
}

function needsOf(endpoints: readonly Endpoint[]): Map<string, string> {
  const calls = new Set(endpoints.flatMap(({ call, stream }) => [call, stream]))
  return new Map([...calls].flatMap(call => call.variables.map(name => [name, call.text])))
}
