import { priceText } from '../../core/bound-text.js'
import type { Price } from '../../core/bounds.js'
import type { ModelConfig } from '../../core/config.js'
import { isGlob } from '../../core/glob.js'
import type { Steps } from '../../core/steps.js'
import type { Found } from '../model-index.js'
import { isName, NameSet } from '../names.js'
import { asWritten } from '../upstream-name.js'
import type { Side } from './change.js'

/** Models that both plans treat alike among themselves, but for names. */
export interface ModelClass {
  /** As requests name them; of a glob a name that it alone stands for. */
  readonly names: readonly string[]
  readonly representative: string
  /** Names of other models that serve, or are copied to, in its stead: what a key may do with them shows. */
  readonly others: readonly string[]
  /** Whether the name of the key decides about its targets. */
  readonly byKey: boolean
  /** Whether nothing that decides about these models differs. */
  readonly isSame: boolean
}

/** Stands for what a `*` matches. Fit for a path, and no one's model. */
const ANY_NAME = 'any-other-name'

/** What every request may name: names as they are, globs by {@link specimenOf}. The value is what reports call it. */
export function namesOf(sides: readonly Side[]): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  for (const { plan, config } of sides) {
    const keyed = [...Object.values(config.keys), ...Object.values(config.groups)].flatMap(({ models = [] }) => models)
    for (const name of [...plan.models.index.declared.map(one => one.name), ...plan.models.index.listed, ...keyed]) {
      const asked = isGlob(name) ? specimenOf(name) : name
      if (isName(asked) && !names.has(asked)) names.set(asked, name)
    }
  }
  return names
}

/** A name that a glob matches. */
function specimenOf(glob: string): string {
  return glob.replaceAll('*', ANY_NAME)
}

/** One class for routes whose requests name no model. */
export const NAMELESS: ModelClass = { names: [''], representative: '', others: [], byKey: false, isSame: false }

export function* classesOf(names: Iterable<string>, before: Side, after: Side): Steps<readonly ModelClass[]> {
  const was = new SideModels(before)
  const is = new SideModels(after)
  const same = sameSettings(before, after)
  const classes = new Map<string, { readonly names: string[]; readonly first: readonly (Served | undefined)[] }>()
  for (const name of names) {
    yield
    const pair = [was.of(name), is.of(name)] as const
    const key = `${pair[0]?.text ?? '-'}→${pair[1]?.text ?? '-'}|${namesAlike(pair[0], pair[1])}`
    const known = classes.get(key)
    if (known === undefined) classes.set(key, { names: [name], first: pair })
    else known.names.push(name)
  }
  return [...classes.values()].map(({ names, first: [one, other] }) => {
    const shapes = [one?.shape, other?.shape].filter(shape => shape !== undefined)
    return {
      ...{ names, representative: names[0] ?? '' },
      others: [...new Set(shapes.flatMap(othersOf))],
      byKey: shapes.some(isByKey),
      isSame: isUntouched(one, other, same),
    }
  })
}

function isByKey({ strategy, canary, targets }: ModelConfig): boolean {
  return strategy?.by === 'sticky' || canary?.by === 'key' || targets.some(({ when }) => when?.key !== undefined)
}

interface Served {
  readonly shape: ModelConfig
  /** The targets' names for the model. */
  readonly targets: readonly string[]
  /** What of a side decides how the model is served, by numbers that are of this side alone. */
  readonly text: string
  readonly prices: string
}

/** What a side makes of names, with numbers for what is equal. */
class SideModels {
  readonly #side: Side
  readonly #shapes = new Map<ModelConfig, number>()
  readonly #prices = new Map<Price, string>()
  /** Globs of the models that are recorded; without any, all are or none. */
  readonly #recorded: NameSet
  /** Globs of the models that a check is asked about, for each check that names some. */
  readonly #checked: readonly NameSet[]

  constructor(side: Side) {
    this.#side = side
    this.#recorded = new NameSet(side.config.record?.models ?? [])
    this.#checked = side.config.checks.flatMap(({ models }) => (models === undefined ? [] : [new NameSet(models)]))
  }

  of(name: string): Served | undefined {
    const found = this.#side.plan.models.index.find(name)
    if (found === undefined) return undefined
    const { config, shape } = found.model
    const number = this.#shapes.get(shape) ?? this.#shapes.size
    this.#shapes.set(shape, number)
    const targets = config.targets.map(({ as }) => asWritten(name, found, as))
    const prices = config.targets.map(({ upstream }, at) => this.#priceOf(found, upstream, targets[at] ?? '', name))
    // Names that paths cannot hold are served otherwise than others.
    const odd = [name, ...targets].some(one => ODD.test(one)) ? name : ''
    const recorded = this.#recorded.has(name) ? 'recorded' : ''
    const checked = this.#checked.map(models => (models.has(name) ? 'x' : '-')).join('')
    const text = `${number} ${prices.join('|')} ${recorded} ${checked} ${odd}`
    return { shape, targets, prices: prices.join('|'), text }
  }

  #priceOf({ model }: Found, upstream: string, target: string, name: string): string {
    const price = this.#side.plan.tariffs?.price(upstream, target, [...new Set([name, model.name])])
    if (price === undefined) return ''
    const known = this.#prices.get(price) ?? priceText(price)
    this.#prices.set(price, known)
    return known
  }
}

const ODD = /[/\\%]|^\.+$/

/** Which of the two sides' names for the model are equal. */
function namesAlike(one: Served | undefined, other: Served | undefined): string {
  if (one === undefined || other === undefined) return ''
  return one.targets.map(name => other.targets.map(theirs => (name === theirs ? '=' : '.')).join('')).join(' ')
}

/** Models by name that a model's requests may be given to. */
function othersOf({ fallbacks = {}, canary, mirror }: ModelConfig): readonly string[] {
  const copied = [canary?.to, mirror?.to].filter(name => name !== undefined)
  return [...Object.values(fallbacks).flat(), ...copied]
}

/** The settings that decide about models beside their own, if both sides say the same. */
function sameSettings(before: Side, after: Side): ((upstream: string) => boolean) | undefined {
  const [one, other] = [before, after].map(({ config }) => {
    const { timeouts, retry, health, protocols, routes, media, accounting, task_kinds, resource_kinds } = config
    const { models, keys, routes: recorded } = config.record ?? {}
    const record = config.record && [models, keys, recorded]
    const unpriced = { ...accounting, prices: undefined, shippedPrices: undefined }
    const kinds = [task_kinds, resource_kinds]
    const checks = config.checks.map(({ name, routes, models, when }) => [name, routes, models, when])
    return JSON.stringify([timeouts, retry, health, protocols, routes, media, unpriced, kinds, record, checks])
  })
  if (one !== other) return undefined
  const known = new Map<string, boolean>()
  return upstream => {
    const found = known.get(upstream)
    if (found !== undefined) return found
    const [was, is] = [before, after].map(({ config }) => JSON.stringify(config.upstreams[upstream]))
    known.set(upstream, was === is)
    return was === is
  }
}

function isUntouched(
  one: Served | undefined,
  other: Served | undefined,
  isSame: ((upstream: string) => boolean) | undefined,
): boolean {
  if (isSame === undefined || one === undefined || other === undefined) return false
  // Of models that requests are also given to, the facts tell whether anything serves them.
  if (othersOf(one.shape).length > 0) return false
  if (one.prices !== other.prices || one.targets.some((name, at) => name !== other.targets[at])) return false
  if (shapeText(one.shape) !== shapeText(other.shape)) return false
  return one.shape.targets.every(({ upstream }) => isSame(upstream))
}

/** As written, but for the targets' names of the model and what only lists of models show. */
function shapeText({ owner: _, created: __, list: ___, ...shape }: ModelConfig): string {
  return JSON.stringify({ ...shape, targets: shape.targets.map(target => ({ ...target, as: undefined })) })
}
