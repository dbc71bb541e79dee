import type { AccountingConfig } from '../core/accounting-config.js'
import type { Price, PriceUnit, Scope, ScopeType, Tariff } from '../core/bounds.js'
import type { Config, ModelConfig } from '../core/config.js'
import { amountsOf, fits, unitsBilled } from '../core/price-fit.js'
import { findPrice, PriceList } from '../core/price-list.js'
import type { Steps } from '../core/steps.js'
import type { Found } from './model-index.js'
import { scopeOf } from './policies.js'

/** Of requests that name no model: nothing is known that they would use. */
const NOTHING: Price = {}

/** Makes the tariffs of exchanges that serve one protocol. */
export interface RouteTariffs {
  /** `target` is the upstream's name for the model; `name` the client's, which is empty on routes without models. */
  of(found: Found, upstream: string, target: string, name: string): Tariff
}

/** Makes the tariffs of exchanges. There is none where nothing is counted. */
export class Tariffs {
  readonly #accounting: AccountingConfig
  readonly #upstreams: Config['upstreams']
  readonly #protocols: Config['protocols']
  readonly #own: PriceList
  readonly #shipped: PriceList
  readonly #lists = new Map<string, PriceList>()
  /** By type and name; those of models and upstreams with limits. */
  readonly #scopes = new Map<string, Scope>()
  /** By model and upstream: stages keep what they work out by these very lists. */
  readonly #met = new Map<string, readonly Scope[]>()

  private constructor({ upstreams, protocols }: Pick<Config, 'upstreams' | 'protocols'>, accounting: AccountingConfig) {
    this.#accounting = accounting
    this.#upstreams = upstreams
    this.#protocols = protocols
    this.#own = new PriceList(accounting.prices)
    this.#shipped = new PriceList(accounting.shippedPrices)
  }

  /** Scopes that say the same as `before` are the same objects. */
  static *compile(
    { accounting, upstreams, models, protocols }: Pick<Config, 'accounting' | 'upstreams' | 'models' | 'protocols'>,
    before?: Tariffs,
  ): Steps<Tariffs | undefined> {
    if (accounting === undefined) return undefined
    const tariffs = new Tariffs({ upstreams, protocols }, accounting)
    const scopesBefore = before === undefined ? undefined : before.#scopes
    for (const [type, holders] of [
      ['upstream', upstreams],
      ['model', models],
    ] as const) {
      for (const name of Object.keys(holders)) {
        const limits = holders[name]?.limits
        if (limits === undefined) continue
        const key = `${type} ${name}`
        tariffs.#scopes.set(key, scopeOf(type, name, limits, scopesBefore?.get(key)))
        yield
      }
    }
    return tariffs
  }

  /** Of a model or an upstream. */
  scopeOf(type: ScopeType, name: string): Scope | undefined {
    return this.#scopes.get(`${type} ${name}`)
  }

  /** Those of exchanges that serve one protocol. */
  on(protocol: string): RouteTariffs {
    const units = unitsBilled(amountsOf(this.#protocols, protocol))
    return { of: (...exchange) => this.#of(units, ...exchange) }
  }

  #of(units: ReadonlySet<PriceUnit>, { model }: Found, upstream: string, target: string, name: string): Tariff {
    const known =
      name === '' ? this.#ofNothing(upstream) : this.price(upstream, target, [...new Set([name, model.name])])
    const theirs = this.#upstreams[upstream]
    const { maxOutput, onClientAbort, limits }: ModelConfig = model.config
    return {
      price: known !== undefined && fits(known, units) ? known : undefined,
      scopes: this.#scopesOf(model.name, upstream),
      maxOutput,
      unpriced: limits?.unpriced ?? theirs?.limits?.unpriced ?? this.#accounting.unpriced ?? 'refuse',
      onClientAbort: onClientAbort ?? theirs?.onClientAbort ?? 'cancel',
    }
  }

  price(upstream: string, target: string, models: readonly string[]): Price | undefined {
    const sources = { own: this.#own, upstream: this.#listOf(upstream), shipped: this.#shipped }
    return findPrice({ upstream, target, models }, sources)
  }

  /** Of batches, whose models are not read, each request may have a price. */
  #ofNothing(upstream: string): Price {
    return this.#own.find([`${upstream}/batch`]) ?? NOTHING
  }

  #scopesOf(model: string, upstream: string): readonly Scope[] {
    const [own, theirs] = [this.#scopes.get(`model ${model}`), this.#scopes.get(`upstream ${upstream}`)]
    const key = JSON.stringify([own?.name, theirs?.name])
    const known = this.#met.get(key) ?? [own, theirs].filter(scope => scope !== undefined)
    this.#met.set(key, known)
    return known
  }

  #listOf(upstream: string): PriceList | undefined {
    const prices = this.#upstreams[upstream]?.prices
    if (prices === undefined) return undefined
    const known = this.#lists.get(upstream) ?? new PriceList(prices)
    this.#lists.set(upstream, known)
    return known
  }
}
