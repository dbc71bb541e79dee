import { NO_PARAMS, newParams, type Params } from '../core/params.js'
import type { Match, Miss, Route, Shown } from '../core/plan.js'
import { NotFoundForms, wrongMethod } from './not-found.js'
import type { Pattern } from './pattern.js'
import { isRefused } from './refused-path.js'

interface Owned {
  readonly pattern: Pattern
  readonly route: Route
  /** Parameters that nothing in the path says. */
  readonly fixed: Params
  /** The path is the route's for requests with one of these headers alone. Empty: for all. */
  readonly marks: readonly string[]
}

/** How a route owns a path that is not the one of its key. */
interface Owning {
  readonly fixed?: Params
  readonly with?: readonly string[]
}

/** Who owns a path: for each method one for all requests, and any number for those with certain headers. */
type Owners = Owned[]

/** A plan may have tens of thousands of these, so they make their parts when they are first needed. */
class Node {
  literals: Map<string, Node> | undefined
  /** Parameters with a suffix, by that. */
  suffixed: Map<string, Node> | undefined
  /** The lengths of those suffixes, each once, the longest first. */
  lengths: number[] | undefined
  /** Whether one of those suffixes is a verb: `:predict`. */
  verbs = false
  /** The parameter without one. */
  parameter: Node | undefined
  /** Owners of the paths that end here, and of those that only a tail takes on. */
  here: Owners | undefined
  tail: Owners | undefined
}

const NOTHING: Shown = Object.freeze(Object.create(null))

/**
 * Finds the route of a request by its method and raw path, and by its headers where several share these. Literals win over parameters, longer suffixes over shorter
 * ones, single segments over several, verbs over tails. Segments are compared as they were sent: an escaped slash, colon or
 * letter is data and never changes which route matches. Linear in the path: each node of the tree is seen at most once.
 */
export class Router {
  readonly #static = new Map<string, Owners>()
  readonly #root = new Node()
  readonly #notFound = new NotFoundForms()

  /** False where another route matches the same requests; it stays. */
  add(pattern: Pattern, route: Route, { fixed = NO_PARAMS, with: marks = [] }: Owning = {}): boolean {
    const owners = this.#ownersOf(pattern)
    const added: Owned = { pattern, route, fixed, marks }
    if (owners.some(owned => clash(owned, added))) return false
    owners.push(added)
    this.#notFound.mark([...route.families, ...marks.map(header => ({ family: route.errors, header }))])
    // What others own is refused as they do.
    if (marks.length === 0) this.#notFound.add(pattern, route)
    return true
  }

  #ownersOf(pattern: Pattern): Owners {
    if (pattern.parameters.length === 0) return getOrAdd(this.#static, pattern.path, () => [])
    let node = this.#root
    for (const segment of pattern.segments) {
      if (segment.type === 'tail') {
        node.tail ??= []
        return node.tail
      }
      node = segment.type === 'literal' ? literalEdge(node, segment.text) : parameterEdge(node, segment.suffix)
    }
    node.here ??= []
    return node.here
  }

  match(method: string, path: string, headers: Shown = NOTHING): Match | Miss {
    return this.#find(method, path, headers) ?? this.#elsewhere(method, path, headers)
  }

  /** Undefined where no one owns the path. */
  #find(method: string, path: string, headers: Shown): Match | Miss | undefined {
    const fixed = this.#static.get(path)
    const owned = ownerOf(fixed, method, headers)
    if (owned !== undefined) return { route: owned.route, params: owned.fixed }
    if (isRefused(path)) return this.#notFound.at(path, 400, headers)
    const search = new Search(method, headers, path.slice(1).split('/'))
    const found = path.includes('//') || path.endsWith('/') ? undefined : search.walk(this.#root, 0)
    if (found !== undefined) return { route: found.route, params: paramsOf(found, search.segments) }
    const others = ownersFor([...(fixed ?? []), ...search.others], method, headers)
    return others.length === 0 ? undefined : wrongMethod(others, method, this.#notFound.shown(headers))
  }

  /** Refuses a path that no one owns: as the route would, where it is another one's behind another base address. */
  #elsewhere(method: string, path: string, headers: Shown): Miss {
    for (const instead of pathsNear(path)) {
      const meant = this.#find(method, instead, headers)
      if (meant?.route === undefined) continue
      const { caller, errors } = this.#notFound.shown(headers) ?? meant.route
      return { route: undefined, status: 404, allow: [], caller, errors, families: [], instead }
    }
    return this.#notFound.at(path, 404, headers)
  }
}

/** Endings that clients' guides add to a base address, or that clients add by mistake. */
const BASES = ['/v1', '/v1beta']
/** Leading segments that a base address may have too many of. */
const MAX_SURPLUS_SEGMENTS = 3
/** A longer path is not a slip of a base address. */
const MAX_NEAR_PATH_CHARS = 512

/** A path as it would be behind another base address: with one of {@link BASES}, or from a later one of these on. */
function pathsNear(path: string): readonly string[] {
  if (path.length > MAX_NEAR_PATH_CHARS) return []
  const whole = path.replace(/(?<!\/)\/+$/, '')
  const segments = whole.split('/').slice(1)
  const later = segments.slice(1, 1 + MAX_SURPLUS_SEGMENTS).flatMap((segment, at) => {
    return BASES.includes(`/${segment}`) ? [`/${segments.slice(at + 1).join('/')}`] : []
  })
  return [whole, ...BASES.map(base => base + whole), ...later]
}

/** One walk down the tree; remembers who owns the path with other methods. */
class Search {
  readonly #method: string
  readonly #headers: Shown
  readonly segments: readonly string[]
  readonly others: Owned[] = []

  constructor(method: string, headers: Shown, segments: readonly string[]) {
    this.#method = method
    this.#headers = headers
    this.segments = segments
  }

  /** `hasVerbs`: the last segment is where some routes end in a verb (`{model}:predict`), and with none of theirs. */
  walk(node: Node, depth: number, hasVerbs = false): Owned | undefined {
    const segment = this.segments[depth]
    if (segment === undefined) return this.#claim(node.here, hasVerbs)
    const literal = node.literals?.get(segment)
    const exact = literal === undefined ? undefined : this.walk(literal, depth + 1)
    if (exact !== undefined) return exact
    for (const length of node.lengths ?? []) {
      const next = segment.length > length ? node.suffixed?.get(segment.slice(segment.length - length)) : undefined
      const found = next === undefined ? undefined : this.walk(next, depth + 1)
      if (found !== undefined) return found
    }
    const isVerb = node.verbs && this.segments.at(-1)?.includes(':') === true
    const found = node.parameter === undefined ? undefined : this.walk(node.parameter, depth + 1, isVerb)
    return found ?? (isVerb ? this.#verb(node, depth) : undefined) ?? this.#claim(node.tail, isVerb)
  }

  /** A verb ends the path of a name that has slashes: `maker/large:predict`. */
  #verb(node: Node, depth: number): Owned | undefined {
    if (depth === this.segments.length - 1) return undefined
    const last = this.segments.at(-1) ?? ''
    for (const length of node.lengths ?? []) {
      const verb = last.length > length && last.at(-length) === ':' ? last.slice(-length) : ''
      const found = this.#claim(node.suffixed?.get(verb)?.here, false)
      if (found !== undefined) return found
    }
    return undefined
  }

  /** An unknown verb is not a method of the resource before it. */
  #claim(owners: Owners | undefined, isVerb: boolean): Owned | undefined {
    const found = ownerOf(owners, this.#method, this.#headers)
    if (found === undefined && owners !== undefined && !isVerb) this.others.push(...owners)
    return found
  }
}

/** Decoded once; the path is known to decode. */
function paramsOf({ pattern, fixed }: Owned, segments: readonly string[]): Params {
  const params = newParams()
  if (fixed !== NO_PARAMS) Object.assign(params, fixed)
  const last = pattern.segments.length - 1
  for (let index = 0; index <= last; index++) {
    const segment = pattern.segments[index]
    if (segment === undefined || segment.type === 'literal') continue
    const raw = index < last ? (segments[index] ?? '') : segments.slice(index).join('/')
    const suffix = segment.type === 'tail' ? '' : segment.suffix
    params[segment.name] = decoded(raw.slice(0, raw.length - suffix.length))
  }
  return params
}

/** Most have nothing to decode, and to look is cheaper. */
function decoded(raw: string): string {
  return raw.includes('%') ? decodeURIComponent(raw) : raw
}

/** Anyone who owns the requests with one of their headers comes before the owner of all. */
function ownerOf(owners: Owners | undefined, method: string, headers: Shown): Owned | undefined {
  let usual: Owned | undefined
  for (const owned of owners ?? []) {
    if (owned.pattern.method !== method) continue
    if (owned.marks.length === 0) usual = owned
    else if (isMarked(owned, headers)) return owned
  }
  return usual
}

/**
 * The routes that a request of another method would have been for. A browser asks for all before it shows any header
 * (OPTIONS).
 */
function ownersFor(owners: Owners, method: string, headers: Shown): readonly Route[] {
  const marked = owners.filter(owned => isMarked(owned, headers))
  const rest = owners.filter(owned => owned.marks.length === 0 || (method === 'OPTIONS' && !marked.includes(owned)))
  return [...marked, ...rest].map(({ route }) => route)
}

function isMarked({ marks }: Owned, headers: Shown): boolean {
  return marks.some(name => headers[name] !== undefined)
}

function clash(one: Owned, other: Owned): boolean {
  if (one.pattern.method !== other.pattern.method) return false
  return one.marks.length === 0 ? other.marks.length === 0 : one.marks.some(name => other.marks.includes(name))
}

function literalEdge(node: Node, text: string): Node {
  node.literals ??= new Map()
  return getOrAdd(node.literals, text, () => new Node())
}

function parameterEdge(node: Node, suffix: string): Node {
  if (suffix === '') {
    node.parameter ??= new Node()
    return node.parameter
  }
  node.verbs ||= suffix.startsWith(':')
  node.lengths ??= []
  node.suffixed ??= new Map()
  if (!node.lengths.includes(suffix.length)) {
    node.lengths.push(suffix.length)
    node.lengths.sort((a, b) => b - a)
  }
  return getOrAdd(node.suffixed, suffix, () => new Node())
}

function getOrAdd<Value>(map: Map<string, Value>, key: string, make: () => Value): Value {
  const known = map.get(key)
  if (known !== undefined) return known
  const value = make()
  map.set(key, value)
  return value
}
