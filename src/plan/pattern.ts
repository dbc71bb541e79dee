/** One segment of a route's path. */
type Segment =
  | { readonly type: 'literal'; readonly text: string }
  /**
   * `{model}`, or `{model}:generate`: takes one segment that ends in the suffix and has more than that; with a verb at the end of the
   * path, several if need be.
   */
  | { readonly type: 'parameter'; readonly name: string; readonly suffix: string }
  /** `{id*}`, at the end: takes the rest of the path, slashes included. */
  | { readonly type: 'tail'; readonly name: string }

/** A route's key, taken apart. */
export interface Pattern {
  readonly method: string
  readonly path: string
  readonly segments: readonly Segment[]
  /** Names of the parameters, in the order of the path. */
  readonly parameters: readonly string[]
}

const PARAMETER = /^\{(\w+)(\*?)\}(.*)$/

/** Takes `METHOD /path/{param}` apart; `config` has checked its form. */
export function parsePattern(key: string): Pattern {
  const space = key.indexOf(' ')
  const path = key.slice(space + 1)
  const segments = path.slice(1).split('/').map(parseSegment)
  const parameters = segments.flatMap(segment => (segment.type === 'literal' ? [] : [segment.name]))
  return { method: key.slice(0, space), path, segments, parameters }
}

/** The same behind one more segment. */
export function prefixed(pattern: Pattern, prefix: string): Pattern {
  const { path, segments } = pattern
  return { ...pattern, path: `/${prefix}${path}`, segments: [{ type: 'literal', text: prefix }, ...segments] }
}

function parseSegment(text: string): Segment {
  const [, name, star, suffix = ''] = PARAMETER.exec(text) ?? []
  if (name === undefined) return { type: 'literal', text }
  return star === '' ? { type: 'parameter', name, suffix } : { type: 'tail', name }
}
