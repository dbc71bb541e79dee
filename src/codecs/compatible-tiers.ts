const TIERS = ['auto', 'default', 'flex', 'scale', 'priority', 'fast']

/** The tier in the words of the compatible protocols; other protocols' word for the one that is nothing special is theirs alone. */
export function writeTier(tier: string | undefined): string | undefined {
  const word = tier?.toLowerCase()
  if (word === 'unspecified') return 'auto'
  return word === 'standard' || word === 'standard_only' ? 'default' : tier
}

/** The tier that an answer tells of; undefined for those that these protocols do not know. */
export function answeredTier(tier: string | undefined): string | undefined {
  const word = writeTier(tier)?.toLowerCase()
  return word !== undefined && TIERS.includes(word) ? word : undefined
}
