import type { Family } from '../core/errors.js'
import type { Placement } from '../core/placement.js'
import type { Miss, Route, Shown } from '../core/plan.js'
import type { FamilyMark } from '../core/route-settings.js'
import type { Pattern } from './pattern.js'

/** Where no route says it: as the schema's default. */
const USUAL: readonly Placement[] = [{ in: 'header', name: 'authorization', scheme: 'Bearer' }]

type Asking = Pick<Miss, 'errors' | 'caller'>

/**
 * Decides in which family's shape a request is refused that no route matches, and where its key is looked for: in the family
 * that its headers show, else as the first route does that shares the longest run of leading segments with its path.
 */
export class Misses {
  readonly #families = new Map<string, Family>()
  readonly #placements = new Map<Family, Map<string, Placement>>()
  /** By header. */
  readonly #marks = new Map<string, FamilyMark>()

  /** Clients with one of these headers are of that family, whatever path they ask for. */
  mark(marks: readonly FamilyMark[]): void {
    for (const mark of marks) this.#marks.set(mark.header, mark)
  }

  /** The family that the headers of a request show, and where its routes look for keys. */
  shown(headers: Shown): Asking | undefined {
    for (const { header, family } of this.#marks.values())
      if (headers[header] !== undefined) return { errors: family, caller: this.#callerOf(family) }
    return undefined
  }

  #callerOf(family: Family): readonly Placement[] {
    const places = this.#placements.get(family)
    return places === undefined ? USUAL : [...places.values()]
  }

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
  at(path: string, status: 404 | 400, headers: Shown): Miss {
    const { errors, caller } = this.shown(headers) ?? this.#usual(this.#familyOf(path))
    return { route: undefined, status, allow: [], caller, errors, families: [] }
  }

  #usual(errors: Family): Asking {
    return { errors, caller: this.#callerOf(errors) }
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
  shown?: Asking,
): Miss {
  const places = [...owners.flatMap(route => route.caller), ...(shown?.caller ?? [])]
  return {
    route: undefined,
    status: method === 'GET' && owners.some(route => route.method === 'WS') ? 426 : 405,
    allow: [...new Set(owners.map(route => (route.method === 'WS' ? 'GET' : route.method)))].sort(),
    caller: [...new Map(places.map(place => [JSON.stringify(place), place])).values()],
    errors: shown?.errors ?? owners[0]?.errors ?? 'compatible',
    families: owners.flatMap(route => route.families),
  }
}
