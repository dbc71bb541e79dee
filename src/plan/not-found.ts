import type { Family } from '../core/errors.js'
import type { Placement } from '../core/placement.js'
import type { Miss, Route, Shown } from '../core/plan.js'
import type { FamilyMark } from '../core/route-settings.js'
import type { Pattern } from './pattern.js'

/** The schema's default, for families without routes. */
const DEFAULT_PLACEMENTS: readonly Placement[] = [{ in: 'header', name: 'authorization', scheme: 'Bearer' }]

type RefusalForm = Pick<Miss, 'errors' | 'caller'>

/**
 * Decides which family's error shape answers a request that no route matches, and where its key is read: the family that
 * its headers show; otherwise that of the first route that shares the longest run of leading segments with the path.
 */
export class NotFoundForms {
  readonly #families = new Map<string, Family>()
  readonly #placements = new Map<Family, Map<string, Placement>>()
  /** By header. */
  readonly #marks = new Map<string, FamilyMark>()

  /** Requests with one of these headers belong to that family, regardless of their path. */
  mark(marks: readonly FamilyMark[]): void {
    for (const mark of marks) this.#marks.set(mark.header, mark)
  }

  /** The family that the request's headers show, and where its routes read keys. */
  shown(headers: Shown): RefusalForm | undefined {
    for (const { header, family } of this.#marks.values())
      if (headers[header] !== undefined) return { errors: family, caller: this.#callerOf(family) }
    return undefined
  }

  #callerOf(family: Family): readonly Placement[] {
    const places = this.#placements.get(family)
    return places === undefined ? DEFAULT_PLACEMENTS : [...places.values()]
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

  /** `status` 404: no route has the path; 400: no route could have it. */
  at(path: string, status: 404 | 400, headers: Shown): Miss {
    const { errors, caller } = this.shown(headers) ?? this.#default(this.#familyOf(path))
    return { route: undefined, status, allow: [], caller, errors, families: [] }
  }

  #default(errors: Family): RefusalForm {
    return { errors, caller: this.#callerOf(errors) }
  }

  /** All shorter prefixes of a known prefix are known too, so the search ends at the first unknown one. */
  #familyOf(path: string): Family {
    let longest = this.#families.get('') ?? 'compatible'
    for (let end = path.indexOf('/', 1); ; end = path.indexOf('/', end + 1)) {
      const family = this.#families.get(end < 0 ? path : path.slice(0, end))
      longest = family ?? longest
      if (family === undefined || end < 0) return longest
    }
  }
}

/** The path exists with other methods: 405, or 426 for a plain GET where a WebSocket is served (RFC 9110 §15.5.22). */
export function wrongMethod(
  owners: readonly Pick<Route, 'method' | 'errors' | 'caller' | 'families'>[],
  method: string,
  shown?: RefusalForm,
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
