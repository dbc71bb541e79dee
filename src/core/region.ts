/** The regions that a caller's requests may reach; undefined: all. */
export type AllowedRegions = ReadonlySet<string> | undefined

/** Whether something in a region may be reached: for callers with regions only if its region is known. */
export function mayReach(allowed: AllowedRegions, region: string | undefined): boolean {
  return allowed === undefined || (region !== undefined && allowed.has(region))
}
