import type { Price } from './bounds.js'
import { Glob, isGlob } from './glob.js'

/** Prices by names and globs. */
export class PriceList {
  readonly #exact = new Map<string, Price>()
  /** In the order in which they are declared. */
  readonly #globs: { readonly glob: Glob; readonly price: Price }[] = []

  constructor(prices: Readonly<Record<string, Price>> = {}) {
    for (const [name, price] of Object.entries(prices)) {
      if (isGlob(name)) this.#globs.push({ glob: new Glob(name), price })
      this.#exact.set(name, price)
    }
  }

  /**
   * The price of a thing with several names, the most telling first. An exact name wins over a glob. A name may be a glob
   * itself: then its price is that of a glob that covers all of it.
   */
  find(names: readonly string[]): Price | undefined {
    for (const name of names) {
      const price = this.#exact.get(name)
      if (price !== undefined) return price
    }
    if (this.#globs.length === 0) return undefined
    for (const name of names) {
      const found = this.#globs.find(({ glob }) => glob.matches(name))
      if (found !== undefined) return found.price
    }
    return undefined
  }
}

/** How a target is called, for {@link findPrice}. */
interface PricedTarget {
  readonly upstream: string
  /** The upstream's name for the model. */
  readonly target: string
  /** Names that clients use, the most exact first. */
  readonly models: readonly string[]
}

/** Where prices are looked for, in this order. */
interface PriceSources {
  readonly own: PriceList
  /** Of the upstream and its kinds. */
  readonly upstream: PriceList | undefined
  readonly shipped: PriceList
}

export function findPrice(
  { upstream, target, models }: PricedTarget,
  { own, upstream: theirs, shipped }: PriceSources,
): Price | undefined {
  return own.find([`${upstream}/${target}`, target, ...models]) ?? theirs?.find([target]) ?? shipped.find([target])
}
