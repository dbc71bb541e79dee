const LEVEL = 'MEDIA_RESOLUTION_'

/** `MEDIA_RESOLUTION_LOW` as the detail of an image; undefined where it says nothing. */
export function detailOf(resolution: string | undefined): string | undefined {
  switch (resolution?.replace(LEVEL, '')) {
    case 'LOW':
      return 'low'
    case 'MEDIUM':
      return 'auto'
    case 'HIGH':
    case 'ULTRA_HIGH':
      return 'high'
    default:
      return undefined
  }
}

/** The one resolution for all media of a request; undefined where it is up to the upstream. */
export function resolutionOf(details: readonly string[]): string | undefined {
  if (details.includes('high') || details.includes('original')) return `${LEVEL}HIGH`
  return details.length > 0 && details.every(detail => detail === 'low') ? `${LEVEL}LOW` : undefined
}
