import type { Caller } from '../core/caller.js'
import type { ModelConfig } from '../core/config.js'
import { Glob, isGlob, overlap } from '../core/glob.js'
import type { ModelEntry } from '../core/model-entry.js'
import type { ModelSource, ModelTable } from '../core/plan.js'
import { mayReach } from '../core/region.js'
import type { ModelIndex } from './model-index.js'
import { isName } from './names.js'
import { asWritten } from './upstream-name.js'
import type { CompiledUpstream } from './upstreams.js'

/** `created` of models that declare none, in seconds since the epoch: the start of 2025. It only has to stay the same. */
const DEFAULT_CREATED_SECONDS = Date.UTC(2025, 0, 1) / 1000

/** Under `speaks`: how an upstream is asked for its models. */
const LISTING = 'models'

/** Clients' names for the names that an upstream listed, if the glob matches them. */
function namesFor(name: string, as: string | undefined, reported: readonly string[]): readonly string[] {
  const glob = new Glob(name)
  if (as === undefined) return reported.filter(one => glob.matches(one))
  // Of a name that is always the same, or of two stars, no one can tell what clients would write.
  if (!isGlob(as) || name.indexOf('*') !== name.lastIndexOf('*')) return []
  const written = new Glob(as)
  return reported.flatMap(one => {
    const star = written.capture(one)
    return star === undefined ? [] : [name.replace('*', () => star)]
  })
}

/** Whether a caller may use a model of that name; of a glob, whether its own globs have names in common with it. */
function reaches(caller: Caller, name: string): boolean {
  if (!isGlob(name)) return caller.may(name)
  return caller.models.some(pattern => overlap(pattern, name))
}

/** What `GET /v1/models` lists: names that the caller may use. */
export class ModelCatalog implements ModelTable {
  readonly index: ModelIndex
  readonly #serves: (name: string) => boolean
  readonly #upstreams: ReadonlyMap<string, CompiledUpstream>

  /** `serves` tells whether some route can serve the name now. */
  constructor(
    index: ModelIndex,
    serves: (name: string) => boolean,
    upstreams: ReadonlyMap<string, CompiledUpstream> = new Map<string, CompiledUpstream>(),
  ) {
    this.index = index
    this.#serves = serves
    this.#upstreams = upstreams
  }

  /** Globs are listed by the names that are declared for them; where a key names a model that a glob serves, that name stands for itself. */
  list(caller: Caller, reported: readonly string[] = []): readonly ModelEntry[] {
    const names = new Set([...this.index.listed, ...caller.models.filter(name => !isGlob(name)), ...reported])
    return [...names].flatMap(name => this.find(name, caller) ?? [])
  }

  sources(caller: Caller): readonly ModelSource[] {
    const { regions } = caller
    return this.index.asking
      .filter(({ name }) => reaches(caller, name))
      .flatMap(model =>
        model.config.targets.flatMap(({ upstream, as }) => {
          const compiled = this.#upstreams.get(upstream)
          const endpoint = compiled?.endpoints.get(LISTING)
          if (compiled === undefined || endpoint === undefined || compiled.upstream.off !== undefined) return []
          if (!mayReach(regions, compiled.upstream.region)) return []
          return [
            { upstream: compiled.upstream, call: endpoint.call, names: reported => namesFor(model.name, as, reported) },
          ]
        }),
      )
  }

  find(name: string, caller: Caller): ModelEntry | undefined {
    if (!isName(name) || !caller.may(name) || !this.#serves(name)) return undefined
    const config = this.index.find(name)?.model.config
    if (config === undefined) return undefined
    const owner = config.owner ?? config.targets[0]?.upstream ?? 'gateway'
    return { id: name, created: config.created ?? DEFAULT_CREATED_SECONDS, owner }
  }

  globs(caller: Caller): readonly string[] {
    return this.index.declared.flatMap(({ name }) => (isGlob(name) && reaches(caller, name) ? [name] : []))
  }

  nameAt(name: string, upstream: string): string | undefined {
    const found = isName(name) ? this.index.find(name) : undefined
    const target = found?.model.config.targets.find(one => one.upstream === upstream)
    return found === undefined || target === undefined ? undefined : asWritten(name, found, target.as)
  }

  upstreams(caller: Caller, name?: string): ReadonlySet<string> | undefined {
    if (name === undefined) {
      const reached = this.index.declared.filter(model => reaches(caller, model.name))
      return this.#upstreamsOf(reached, caller)
    }
    const found = isName(name) && caller.may(name) ? this.index.find(name) : undefined
    return found && this.#upstreamsOf([found.model], caller)
  }

  #upstreamsOf(models: readonly { readonly config: ModelConfig }[], { regions }: Caller): ReadonlySet<string> {
    const names = new Set(models.flatMap(({ config }) => config.targets.map(({ upstream }) => upstream)))
    if (regions === undefined) return names
    return new Set([...names].filter(name => mayReach(regions, this.#upstreams.get(name)?.upstream.region)))
  }
}
