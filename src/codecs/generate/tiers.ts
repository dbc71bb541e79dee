/** The protocol's tiers by the canonical words, which are those of the compatible protocols. */
const TIERS: Readonly<Record<string, string>> = {
  default: 'standard',
  standard: 'standard',
  standard_only: 'standard',
  flex: 'flex',
  priority: 'priority',
}

/** Undefined where the protocol has no such tier. */
export function wireTier(tier: string): string | undefined {
  return Object.hasOwn(TIERS, tier) ? TIERS[tier] : undefined
}

/** The canonical word; undefined where nothing is said. */
export function tierOf(word: string | undefined): string | undefined {
  const tier = word?.toLowerCase()
  if (tier === undefined || tier === '' || tier === 'unspecified') return undefined
  return tier === 'standard' ? 'default' : tier
}
