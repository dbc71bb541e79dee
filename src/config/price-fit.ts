import type { AccountingConfig } from '../core/accounting-config.js'
import type { Price, PriceUnit } from '../core/bounds.js'
import type { ProtocolConfig } from '../core/config.js'
import { amountsOf, fits, unitsBilled, unitsOfPrice } from '../core/price-fit.js'
import { findPrice, PriceList } from '../core/price-list.js'
import type { Context } from './context.js'
import type { ReadModel } from './models.js'
import { quoted } from './report.js'
import type { ReadRoute } from './routes.js'
import { partnersOfProtocol } from './translatable.js'
import type { ReadUpstream } from './upstreams.js'

/** What decides which price a target has, and what it is for. */
export interface Priced {
  readonly accounting: AccountingConfig
  readonly upstreams: ReadonlyMap<string, ReadUpstream>
  readonly models: ReadonlyMap<string, ReadModel>
  readonly routes: ReadonlyMap<string, ReadRoute>
  readonly protocols: Readonly<Record<string, ProtocolConfig>>
}

/** The prices of the targets of models. */
export class TargetPrices {
  readonly #priced: Priced
  readonly #own: PriceList
  readonly #shipped: PriceList
  readonly #lists = new Map<string, PriceList | undefined>()
  /** By upstream: the units that may be charged on the routes which it serves. */
  readonly #units = new Map<string, ReadonlySet<PriceUnit>>()

  constructor(priced: Priced) {
    this.#priced = priced
    this.#own = new PriceList(priced.accounting.prices)
    this.#shipped = new PriceList(priced.accounting.shippedPrices)
  }

  find(upstream: string, target: string, model: string): Price | undefined {
    const sources = { own: this.#own, upstream: this.#listOf(upstream), shipped: this.#shipped }
    return findPrice({ upstream, target, models: [model] }, sources)
  }

  /** Whether a price says what requests cost on at least one of the routes on which the upstream serves models. */
  fits(price: Price, upstream: string): boolean {
    const units = this.#unitsOf(upstream)
    return units.size === 0 || fits(price, units)
  }

  #listOf(name: string): PriceList | undefined {
    if (this.#lists.has(name)) return this.#lists.get(name)
    const prices = this.#priced.upstreams.get(name)?.config.prices
    const list = prices && new PriceList(prices)
    this.#lists.set(name, list)
    return list
  }

  #unitsOf(name: string): ReadonlySet<PriceUnit> {
    const known = this.#units.get(name)
    if (known !== undefined) return known
    const { upstreams, routes, protocols } = this.#priced
    const spoken = upstreams.get(name)?.endpoints
    const units = new Set<PriceUnit>()
    const asked = new Set([...routes.values()].flatMap(({ config }) => config.protocol ?? []))
    for (const protocol of asked) {
      const isServed = [protocol, ...partnersOfProtocol(protocol)].some(one => spoken?.has(one) === true)
      if (isServed) for (const unit of unitsBilled(amountsOf(protocols, protocol))) units.add(unit)
    }
    this.#units.set(name, units)
    return units
  }
}

/** A price without a unit that its target is charged in: what it serves is counted as free. */
export function warnOfUnfitPrices(priced: Priced, { report }: Context): void {
  const prices = new TargetPrices(priced)
  for (const [name, { config, targets }] of priced.models) {
    for (const [index, { upstream, as = name }] of config.targets.entries()) {
      const price = prices.find(upstream, as, name)
      const site = targets[index]
      if (price === undefined || site === undefined || prices.fits(price, upstream)) continue
      const units = [...unitsOfPrice(price)].join(', ')
      const message = `the price of ${quoted(name)} has only ${units}, in which ${quoted(upstream)} charges nothing: its requests are counted as free`
      report.warn('unfit-price', site, message)
    }
  }
}
