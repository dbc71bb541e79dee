import type { Family } from '../core/errors.js'
import type { Placement } from '../core/placement.js'
import type { Miss, Route } from '../core/plan.js'
import type { Pattern } from './pattern.js'

/** Where no route says it: as the schema's default. */
const USUAL: readonly Placement[] = [{ in: 'header', name: 'authorization', scheme: 'Bearer' }]

/**
 * Decides in which family's shape a request is refused that no route matches, and where its key is looked for: as the
 * first route does that shares the longest run of leading segments with its path.
 */
export class Misses {
  readonly #families = new Map<string, Family>()
  readonly #placements = new Map<Family, Map<string, Placement>>()

  add(pattern: Pattern, { errors, caller }: Pick<Route, 'errors' | 'caller'>): void {
    const places = this.#placements.get(errors) ?? new Map<string, Placement>()
    this.#placements.set(errors, places)
    for (const place of caller) places.set(JSON.stringify(place), place)
    let prefix = ''
    if (!this.#families.has(prefix)) this.#families.set(prefix, errors)
    for (const segment of pattern.segments) {
      if (segment.type !== 'literal') return
      prefix += `/${segment.text}`
      if (!this.#families.has(prefix)) this.#families.set(prefix, errors)
    }
  }

  /** `status` 404: nobody owns the path; 400: nobody could. */
  at(path: string, status: 404 | 400): Miss {
    const errors = this.#familyOf(path)
    const places = this.#placements.get(errors)
    const caller = places === undefined ? USUAL : [...places.values()]
    return { route: undefined, status, allow: [], caller, errors, families: [] }
  }

  /** With every prefix its shorter ones are known too, so the search ends with the first that is not. */
  #familyOf(path: string): Family {
    let longest = this.#families.get('') ?? 'compatible'
    for (let end = path.indexOf('/', 1); ; end = path.indexOf('/', end + 1)) {
      const family = this.#families.get(end < 0 ? path : path.slice(0, end))
      longest = family ?? longest
      if (family === undefined || end < 0) return longest
    }
  }
}

/** The path is owned, but not with this method; 426 where a WebSocket is there and a plain GET was sent (RFC 9110 §15.5.22). */
export function wrongMethod(
  owners: readonly Pick<Route, 'method' | 'errors' | 'caller' | 'families'>[],
  method: string,
): Miss {
  const places = owners.flatMap(route => route.caller)
  return {
    route: undefined,
    status: method === 'GET' && owners.some(route => route.method === 'WS') ? 426 : 405,
    allow: [...new Set(owners.map(route => (route.method === 'WS' ? 'GET' : route.method)))].sort(),
    caller: [...new Map(places.map(place => [JSON.stringify(place), place])).values()],
    errors: owners[0]?.errors ?? 'compatible',
    families: owners.flatMap(route => route.families),
  }
}
