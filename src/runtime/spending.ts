import { PRICE_UNITS, type PriceUnit } from '../core/bounds.js'
import type { LedgerRecord } from '../core/ledger.js'

export const SPENT_BY = ['key', 'group', 'model', 'upstream', 'day'] as const
export type SpentBy = (typeof SPENT_BY)[number]

/** Most names that are summed each for itself; those that come later are summed together. */
const MAX_NAMES = 10_000

/** The name under which copies for mirrors are summed, beside those of keys and groups. */
const MIRRORS = '(mirrors)'

/** What some entries of the ledger add up to. Money in millionths of a USD. */
export interface Spent {
  /** Attempts that answered, also those whose client left before the end, and tasks. */
  readonly requests: number
  /** Attempts that failed, after which another one may have answered. */
  readonly failed: number
  readonly cost: number
  /** Of that, cost of units that were counted here because the upstream did not report them. */
  readonly estimated: number
  /** Entries without a price. */
  readonly unpriced: number
  readonly units: Readonly<Partial<Record<PriceUnit, number>>>
}

type Sum = { -readonly [K in keyof Spent]: K extends 'units' ? Partial<Record<PriceUnit, number>> : Spent[K] }

/** Outcomes of attempts that answered. */
const ANSWERED: ReadonlySet<string> = new Set(['ok', 'cancelled'])

/** Adds up entries of the ledger by one of their members, in bounded memory. */
export class Spending {
  readonly #by: SpentBy
  readonly #maxNames: number
  readonly #sums = new Map<string, Sum>()
  readonly #total = nothing()
  #other: Sum | undefined

  constructor(by: SpentBy, maxNames = MAX_NAMES) {
    this.#by = by
    this.#maxNames = maxNames
  }

  add(day: string, record: LedgerRecord): void {
    if (record.continues) return
    add(this.#total, record)
    add(this.sumOf(nameOf(this.#by, day, record)), record)
  }

  /** The dearest first; days in their order. The name of what has none is empty. */
  get groups(): readonly { readonly name: string; readonly spent: Spent }[] {
    const all = [...this.#sums].map(([name, spent]) => ({ name, spent }))
    const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1)
    if (this.#by === 'day') return all.toSorted(byName)
    return all.toSorted((a, b) => b.spent.cost - a.spent.cost || byName(a, b))
  }

  /** Of all names that came when there were too many. */
  get other(): Spent | undefined {
    return this.#other
  }

  get total(): Spent {
    return this.#total
  }

  private sumOf(name: string): Sum {
    const known = this.#sums.get(name)
    if (known !== undefined) return known
    if (this.#sums.size >= this.#maxNames) {
      this.#other ??= nothing()
      return this.#other
    }
    const sum = nothing()
    this.#sums.set(name, sum)
    return sum
  }
}

/** Units in the order of the configuration that are used anywhere. */
export function unitsOf({ units }: Spent): readonly PriceUnit[] {
  return PRICE_UNITS.filter(unit => units[unit] !== undefined)
}

/** No key and no group asked for what mirrors got. */
function nameOf(by: SpentBy, day: string, record: LedgerRecord): string {
  if (by === 'day') return day
  return record.mirror_of !== undefined && (by === 'key' || by === 'group') ? MIRRORS : (record[by] ?? '')
}

function nothing(): Sum {
  return { requests: 0, failed: 0, cost: 0, estimated: 0, unpriced: 0, units: {} }
}

function add(sum: Sum, { outcome, cost, estimated, unpriced, units }: LedgerRecord): void {
  if (ANSWERED.has(outcome)) sum.requests++
  else sum.failed++
  sum.cost += cost
  if (estimated) sum.estimated += cost
  if (unpriced) sum.unpriced++
  for (const unit of PRICE_UNITS) {
    const amount = units[unit]
    if (amount !== undefined) sum.units[unit] = (sum.units[unit] ?? 0) + amount
  }
}
