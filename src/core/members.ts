/**
 * What becomes of a member of requests that names a model, or says where the request is to go, beside the model itself:
 * - `model`: every text in it is a model's name, which the caller has to be allowed and which gets the upstream's name;
 * - `same`: it repeats the request's own model;
 * - `drop`: it is removed, and the answer says so; `refuse`: the request is refused;
 * - `pass`: it passes, regardless of what a wider declaration says.
 */
export type MemberAction = 'model' | 'same' | 'drop' | 'refuse' | 'pass'

/** By dotted path, of which `*` is every element or member; `?name` is a parameter of the query. */
export type MembersConfig = Readonly<Record<string, MemberAction>>

export interface MemberRule {
  /** As {@link memberName} writes names. */
  readonly path: readonly string[]
  readonly action: Exclude<MemberAction, 'pass'>
}

/** What holds for the requests of one protocol to one upstream. */
export interface MemberRules {
  readonly rules: readonly MemberRule[]
  readonly query: ReadonlyMap<string, MemberAction>
}

/**
 * A name as the most lenient servers compare it: they fold case, and take `api_base` for `apiBase`. U+017F stands for s,
 * U+212A for k.
 */
export function memberName(name: string): string {
  return name.toUpperCase().toLowerCase().replace(/[_-]/g, '')
}

/** What holds for the requests of one route. */
export interface RouteMembers {
  /** Every rule that holds for some upstream. */
  readonly any: readonly MemberRule[]
  /** Whether parameters of the query pass that nothing is declared of. */
  readonly openQuery: boolean
  of(upstream: string): MemberRules
}

/** Those that can be about messages of a tunnel: an upstream's own may be about other protocols. */
export function messageRules({ rules }: MemberRules): readonly MemberRule[] {
  return rules.filter(({ path }) => !path.includes('*'))
}
