import type { Accounting, Price, ScopeLimits } from './bounds.js'
import type { Priority } from './priority.js'

/** What limits, prices and groups have in common. */
export interface AccountingConfig extends Accounting {
  /** What the file says of budgets and models without a price. */
  readonly unpriced?: 'free' | 'refuse'
  /** By upstream's name for a model, client's name, `UPSTREAM/MODEL`, or globs of these. */
  readonly prices: PricesConfig
  /** The shipped prices by upstreams' names for models; none where they are off. */
  readonly shippedPrices: PricesConfig
}

export type PricesConfig = Readonly<Record<string, Price>>

/** Keys that share limits. */
export interface GroupConfig extends CallerRules {
  /** Absent: every model. */
  readonly models?: readonly string[]
}

/** What keys and groups may say of what they bound. */
export interface CallerRules {
  /** The group that this belongs to. */
  readonly group?: string
  readonly limits?: ScopeLimits
  /** Globs over the ids of routes. Absent: all. */
  readonly routes?: readonly string[]
  /** Addresses and networks. Absent: all. */
  readonly networks?: readonly string[]
  /** Absent: that of its group, or `normal`. */
  readonly priority?: Priority
  /** Regions of upstreams. Absent: all. */
  readonly regions?: readonly string[]
}

/** The groups of a key from the inside out; a circle of groups ends it. */
export function groupsOf(
  { group }: Pick<CallerRules, 'group'>,
  groups: Readonly<Record<string, GroupConfig>>,
): readonly (readonly [string, GroupConfig])[] {
  const chain: [string, GroupConfig][] = []
  for (let name = group; name !== undefined; ) {
    const config: GroupConfig | undefined = groups[name]
    if (config === undefined || chain.some(([known]) => known === name)) break
    chain.push([name, config])
    name = config.group
  }
  return chain
}
