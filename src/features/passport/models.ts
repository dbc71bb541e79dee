import type { Caller } from '../../core/caller.js'
import type { JsonObject } from '../../core/json.js'
import type { Exchange, Plan, Route } from '../../core/plan.js'
import { mayReach } from '../../core/region.js'

/** Names that one document looks at and lists; what is beyond is open. */
const MAX_NAMES = 1000

/** The models of a caller, by the routes that serve them. */
export class CallerModels {
  readonly #caller: Caller
  readonly #names: readonly string[]
  readonly #globs: readonly string[]
  readonly #isCut: boolean
  /** Names of components, by the list that each holds. */
  readonly #components = new Map<string, string>()
  readonly components: Record<string, JsonObject> = {}

  constructor(plan: Plan, caller: Caller) {
    this.#caller = caller
    const names = plan.models.list(caller).map(({ id }) => id)
    this.#names = names.slice(0, MAX_NAMES)
    this.#globs = plan.models.globs(caller).slice(0, MAX_NAMES)
    this.#isCut = names.length > MAX_NAMES
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
    const listed = names.length === 0 ? [] : [{ type: 'string', enum: names }]
    const patterns = globs.map(glob => ({
      type: 'string',
      pattern: patternOf(glob),
      description: this.#globText(glob),
    }))
    const rest = this.#isCut ? [{ type: 'string', description: 'Further models; GET /v1/models lists them.' }] : []
    const all: readonly JsonObject[] = [...listed, ...patterns, ...rest]
    const [first = { type: 'string' }] = all
    return all.length < 2 ? first : { anyOf: all }
  }

  #globText(glob: string): string {
    const { models } = this.#caller
    const within = models.includes('*') ? '' : `, if it also fits one of ${models.join(', ')}`
    return `Names that fit ${glob}${within}.`
  }
}

/** The regular expression of a glob. */
function patternOf(glob: string): string {
  return `^${glob.split('*').map(escaped).join('.*')}$`
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
