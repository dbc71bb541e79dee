/** The regions that a caller's requests may reach; undefined: all. */
export type AllowedRegions = ReadonlySet<string> | undefined

/** Whether something in a region may be reached: for callers with regions only if its region is known. */
export function mayReach(allowed: AllowedRegions, region: string | undefined): boolean {
  return allowed === undefined || (region !== undefined && allowed.has(region))
}

/** Regions that a key and each of its groups have in common; undefined if none of them names any. */
export function regionsInCommon(lists: readonly (readonly string[] | undefined)[]): AllowedRegions {
  const [first, ...others] = lists.filter(list => list !== undefined)
  return first && new Set(first.filter(region => others.every(list => list.includes(region))))
}
