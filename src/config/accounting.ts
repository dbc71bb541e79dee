import type { AccountingConfig } from '../core/accounting-config.js'
import { DEFAULTS } from '../core/defaults.generated.js'
import { type Context, interpolate } from './context.js'
import { type Document, Site } from './document.js'
import { type Entries, sectionOf } from './entries.js'
import { readPrices, shippedPrices } from './prices.js'
import type { RawPriceOrFree } from './raw.generated.js'
import { suggest } from './suggest.js'
import { parseDays } from './units.js'
import type { Holders } from './unpriced.js'

interface Counted extends Holders {
  readonly prices: Entries<RawPriceOrFree>
  /** Whether keys of the store have limits. */
  readonly counted?: boolean
  /** Whether prices are asked for. */
  readonly priced?: boolean
}

/** What limits, prices and groups have in common. Undefined where the files have none of these words, nor ask for a
 * ledger, no key of the store has limits, and no one asks for prices: nothing is counted. */
export function readAccounting(
  main: Document,
  counted: Counted,
  root: string,
  context: Context,
): AccountingConfig | undefined {
  const timeZone = readTimeZone(main, context)
  const retention = readRetention(main, context)
  const unpriced = sectionOf(main, 'unpriced')
  const prices = readPrices(counted.prices, context)
  const isCharged = charges(main, counted)
  const isPriced = isCharged || compares(counted) || counted.priced === true
  if (!isPriced && !bounds(counted)) return undefined
  const isOff = sectionOf(main, 'prices') === 'off'
  const accounting: AccountingConfig = {
    timeZone,
    ledger: isCharged ? { retention } : undefined,
    ...(unpriced === undefined ? {} : { unpriced }),
    prices,
    shippedPrices: isOff || !isPriced ? {} : shippedPrices(root, context),
  }
  return accounting
}

function charges(main: Document, { keys, groups, upstreams, models, prices, counted = false }: Counted): boolean {
  return (
    counted ||
    sectionOf(main, 'ledger') !== undefined ||
    prices.size > 0 ||
    Object.keys(groups).length > 0 ||
    Object.values(keys).some(({ limits }) => limits !== undefined) ||
    [...models.values(), ...upstreams.values()].some(({ config }) => config.limits !== undefined)
  )
}

/** Whether prices choose among targets. */
function compares({ models }: Counted): boolean {
  return [...models.values()].some(({ config }) => config.strategy?.by === 'cheapest')
}

/** What needs no ledger. */
function bounds({ keys, upstreams, models }: Counted): boolean {
  return (
    Object.values(keys).some(({ routes, networks }) => routes !== undefined || networks !== undefined) ||
    [...models.values(), ...upstreams.values()].some(({ config }) => config.onClientAbort === 'drain')
  )
}

function readTimeZone(main: Document, context: Context): string {
  const written = sectionOf(main, 'time_zone')
  if (written === undefined) return DEFAULTS.time_zone
  const site = new Site(main, ['time_zone'])
  const name = interpolate(written, site, context)
  if (isTimeZone(name)) return name
  const message = 'expected the IANA name of a time zone, such as UTC or Europe/Berlin'
  if (!context.report.unfilled.has(name)) {
    context.report.error('bad-value', site, message, {
      meant: () => suggest(name, ['UTC', ...Intl.supportedValuesOf('timeZone')]),
    })
  }
  return DEFAULTS.time_zone
}

/** Offsets such as +02:00 lack summer time. */
function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

function readRetention(main: Document, context: Context): number {
  const written = sectionOf(main, 'ledger')?.retention
  if (written === undefined) return DEFAULTS.ledger.retention
  const site = new Site(main, ['ledger', 'retention'])
  const days = parseDays(interpolate(written, site, context))
  if (days === undefined && !context.report.unfilled.has(written)) {
    context.report.error('bad-value', site, 'expected a number of days, such as 90d')
  }
  return days ?? DEFAULTS.ledger.retention
}
