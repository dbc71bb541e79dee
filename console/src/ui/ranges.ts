/** What can be looked back at. */
export const RANGES = ['15m', '1h', '6h', '24h', '7d', '30d'] as const
export type Range = (typeof RANGES)[number]
