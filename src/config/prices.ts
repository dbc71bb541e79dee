import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { PricesConfig } from '../core/accounting-config.js'
import { PRICE_UNITS, type Price, type Rates, TOKEN_UNITS } from '../core/bounds.js'
import { PRICE_PER_USD } from '../core/cost.js'
import { isObject } from '../core/json.js'
import type { Context } from './context.js'
import { Site } from './document.js'
import type { Entries } from './entries.js'
import type { Layer } from './kinds.js'
import { openFile } from './open.js'
import type { RawPriceList, RawPriceOrFree, RawPriceStep } from './raw.generated.js'

/** Prices of tokens are written for a million. */
const TOKENS_PER_PRICE = 1e6

const FREE: Price = {}

/** Prices of the user's files. */
export function readPrices(entries: Entries<RawPriceOrFree>, context: Context): PricesConfig {
  const prices: Record<string, Price> = Object.create(null)
  for (const { name, site, value } of entries.values()) {
    if (value !== undefined) prices[name] = readPrice(value, site, context)
  }
  return prices
}

/** Prices of an upstream and its kinds, the upstream's own first. */
export function mergePrices(layers: readonly Layer[], context: Context): { prices?: PricesConfig } {
  const declared = layers.filter(({ value }) => value.prices !== undefined).reverse()
  if (declared.length === 0) return {}
  const prices: Record<string, Price> = Object.create(null)
  for (const { value, site } of declared) {
    for (const [name, price] of Object.entries(value.prices ?? {})) {
      prices[name] ??= readPrice(price, site.child('prices', name), context)
    }
  }
  return { prices }
}

/** The shipped prices by upstreams' names for models; none where the folder is not there. */
export function shippedPrices(root: string, context: Context): PricesConfig {
  const prices: Record<string, Price> = Object.create(null)
  const folder = join(root, 'routes/prices')
  for (const file of filesIn(folder)) {
    const document = openFile(join(folder, file), 'prices', true, context)
    if (document === undefined || document.misfits.size > 0 || !isObject(document.tree.value)) continue
    // The schema has accepted the value, so it has the form that the raw types say.
    const list = document.tree.value.prices as RawPriceList
    for (const [name, price] of Object.entries(list)) {
      prices[name] = readPrice(price, new Site(document, ['prices', name]), context)
    }
  }
  return prices
}

function filesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
      .filter(file => file.endsWith('.yaml'))
      .sort()
  } catch {
    return []
  }
}

function readPrice(raw: RawPriceOrFree, site: Site, { report }: Context): Price {
  if (raw === 'free') return FREE
  const rates = readRates(raw, site, report)
  const written = Object.entries(raw.above ?? {}).map(([text, step]) => ({
    tokens: tokensOf(text),
    ...{ step, place: site.child('above', text) },
  }))
  for (const [at, { tokens, place }] of written.entries()) {
    if (written.findIndex(one => one.tokens === tokens) === at) continue
    report.error('repeated-step', place, `the step above ${tokens} tokens is written twice; remove one of them`)
  }
  const steps = written.map(({ tokens, step, place }) => ({ tokens, rates: readRates(step, place, report) }))
  return steps.length === 0 ? rates : { ...rates, above: steps.sort((one, other) => one.tokens - other.tokens) }
}

/** `200k` */
function tokensOf(written: string): number {
  return Math.round(Number.parseFloat(written) * (written.endsWith('k') ? 1000 : written.endsWith('M') ? 1e6 : 1))
}

function readRates(raw: RawPriceStep, site: Site, report: Context['report']): Rates {
  const price: { -readonly [K in keyof Rates]: Rates[K] } = {}
  for (const unit of PRICE_UNITS) {
    const usd = raw[unit]
    if (usd === undefined) continue
    const isToken = TOKEN_UNITS.has(unit)
    const parts = Math.round(usd * (isToken ? PRICE_PER_USD / TOKENS_PER_PRICE : PRICE_PER_USD))
    if (Number.isSafeInteger(parts) && (parts > 0 || usd === 0)) price[unit] = parts
    else {
      const range = isToken ? '0.000001 to 1000000 USD per million tokens' : '0.000000000001 to 9000 USD'
      report.error('bad-value', site.child(unit), `a price is 0, or ${range}`)
    }
  }
  return price
}
