import type { Caller } from '../../core/caller.js'
import type { JsonObject } from '../../core/json.js'
import type { Exchange, Plan, Route } from '../../core/plan.js'
import { mayReach } from '../../core/region.js'

/** Names and globs that one document lists. A caller with more of them has none listed: a long list says less than where to find it. */
const MAX_NAMES = 1000
/** Names of a key's own that one pattern holds. */
const MAX_ALLOWED = 100

/** The models of a caller, by the routes that serve them. */
export class CallerModels {
  readonly #caller: Caller
  /** Those that the document looks at. */
  readonly #names: readonly string[]
  readonly #globs: readonly string[]
  readonly #count: number
  /** Whether there are too many to be listed. */
  readonly areMany: boolean
  /** Names of components, by the list that each holds. */
  readonly #components = new Map<string, string>()
  readonly components: Record<string, JsonObject> = {}

  constructor(plan: Plan, caller: Caller) {
    this.#caller = caller
    const names = plan.models.list(caller).map(({ id }) => id)
    const globs = plan.models.globs(caller)
    this.#count = names.length
    this.areMany = names.length + globs.length > MAX_NAMES
    this.#names = this.areMany ? oneOfEach(names, plan, caller) : names
    this.#globs = globs.slice(0, MAX_NAMES)
  }

  /** What serves a model on a route; empty: nothing that this caller may use. */
  exchanges(route: Route, model: string): readonly Exchange[] {
    const found = route.resolve(model)?.groups.flatMap(({ exchanges }) => exchanges) ?? []
    const { regions } = this.#caller
    return regions === undefined ? found : found.filter(({ upstream }) => mayReach(regions, upstream.region))
  }

  /** Names and globs that a route serves. */
  served(route: Route): { readonly names: readonly string[]; readonly globs: readonly string[] } {
    const isServed = (model: string): boolean => this.exchanges(route, model).length > 0
    return { names: this.#names.filter(isServed), globs: this.#globs.filter(isServed) }
  }

  /** A reference to the schema of these names; equal lists are one component. */
  schema(names: readonly string[], globs: readonly string[]): JsonObject {
    const text = JSON.stringify([names, globs])
    const known = this.#components.get(text)
    const component = known ?? `Models${this.#components.size + 1}`
    if (known === undefined) {
      this.#components.set(text, component)
      this.components[component] = this.#list(names, globs)
    }
    return { $ref: `#/components/schemas/${component}` }
  }

  #list(names: readonly string[], globs: readonly string[]): JsonObject {
    if (this.areMany) return this.#described()
    const listed = names.length === 0 ? [] : [{ type: 'string', enum: names }]
    const patterns = globs.map(glob => ({
      type: 'string',
      pattern: patternOf(glob),
      description: this.#globText(glob),
    }))
    const all: readonly JsonObject[] = [...listed, ...patterns]
    const [first = { type: 'string' }] = all
    return all.length < 2 ? first : { anyOf: all }
  }

  /** What the key may use is the pattern; where that is everything, words say where the names are. */
  #described(): JsonObject {
    const { models } = this.#caller
    const others = this.#globs.length === 0 ? '' : ', or a name that one of its globs fits'
    const description = `One of the ${this.#count} models of this key, which GET /v1/models lists${others}.`
    if (models.includes('*') || models.length > MAX_ALLOWED) return { type: 'string', description }
    return { type: 'string', pattern: models.map(patternOf).join('|'), description }
  }

  #globText(glob: string): string {
    const { models } = this.#caller
    const within = models.includes('*') ? '' : `, if it also fits one of ${models.join(', ')}`
    return `Names that fit ${glob}${within}.`
  }
}

/** Of many models the first that leads to each set of upstreams: those of one set are served on the same routes. */
function oneOfEach(names: readonly string[], plan: Plan, caller: Caller): readonly string[] {
  const first = new Map<string, string>()
  for (const name of names) {
    const upstreams = [...(plan.models.upstreams(caller, name) ?? [])].sort().join(' ')
    if (!first.has(upstreams) && first.size < MAX_NAMES) first.set(upstreams, name)
  }
  return [...first.values()]
}

/** The regular expression of a glob. */
function patternOf(glob: string): string {
  return `^${glob.split('*').map(escaped).join('.*')}$`
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
