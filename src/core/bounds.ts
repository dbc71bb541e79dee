/** Who a bound is for. The tightest of all that a request meets decides. */
export type ScopeType = 'key' | 'group' | 'model' | 'upstream'

/** Windows by the calendar of the declared time zone; `total` never ends. */
export type Window = 'second' | 'minute' | 'hour' | 'day' | 'month' | 'total'

/** A bound on what is used up in a window. Budgets are in millionths of a USD. */
export interface Bound {
  readonly unit: 'requests' | 'tokens' | 'budget'
  readonly amount: number
  readonly window: Window
}

/** What `limits:` of a key, a group, a model or an upstream says. */
export interface ScopeLimits {
  readonly bounds: readonly Bound[]
  /** Most requests at once. */
  readonly in_flight?: number
  /** Most streams, tunnels included, at once. */
  readonly streams?: number
  /** Most tokens that one answer may have. */
  readonly max_output?: number
  /** Largest request body, bytes. */
  readonly body?: number
  /** How long requests wait for room instead of being refused, milliseconds. Only of upstreams and models. */
  readonly queue?: number
  /** Whether requests pass while the store cannot be asked. Absent: budgets refuse, other bounds let pass. */
  readonly when_store_fails?: 'open' | 'closed'
  /** What a budget says of models without a price; an outer group's word is in here. Absent: {@link Tariff.unpriced} says. */
  readonly unpriced?: 'free' | 'refuse'
}

export function hasBudget(limits: Pick<ScopeLimits, 'bounds'> | undefined): boolean {
  return limits?.bounds.some(({ unit }) => unit === 'budget') === true
}

/** One holder of bounds, compiled: the same object wherever it applies. */
export interface Scope {
  readonly type: ScopeType
  readonly name: string
  readonly limits: ScopeLimits
  /** The later of two of one holder has the larger number. Absent: 0. */
  readonly made?: number
}

/** Units that a price can be for, as the configuration names them. */
export const PRICE_UNITS = [
  'input',
  'cached',
  'cache_write',
  'output',
  'reasoning',
  'input_audio',
  'output_audio',
  'image',
  'audio_second',
  'video_second',
  'character',
  'search',
  'request',
] as const
export type PriceUnit = (typeof PRICE_UNITS)[number]

/** Units that are counted in tokens: their prices are per million. */
export const TOKEN_UNITS: ReadonlySet<PriceUnit> = new Set([
  'input',
  'cached',
  'cache_write',
  'output',
  'reasoning',
  'input_audio',
  'output_audio',
])

/** Prices of one of each unit (one token, not a million), in millionths of a millionth of a USD: whole numbers. */
export type Rates = Readonly<Partial<Record<PriceUnit, number>>>

/** What requests cost with more tokens of input than `tokens`: of all that they take, not only of what is beyond. */
interface PriceStep {
  readonly tokens: number
  /** Units that are absent cost what they cost otherwise. */
  readonly rates: Rates
}

/** A price, with steps in ascending order for providers that ask more for long inputs. */
export type Price = Rates & { readonly above?: readonly PriceStep[] }

/** What is charged where a target serves a request, and whose bounds hold for it. */
export interface Tariff {
  /** Absent: no price is known. */
  readonly price: Price | undefined
  /** Of the model and of the upstream, those that have limits. */
  readonly scopes: readonly Scope[]
  /** Most tokens that the model writes in one answer, where that is known. */
  readonly maxOutput: number | undefined
  /** What a budget does here where no price is known and its own scope does not say: as model, upstream or file say. */
  readonly unpriced: 'free' | 'refuse'
  /** What becomes of the upstream's work when the client has gone. */
  readonly onClientAbort: 'cancel' | 'drain'
}

/** The bounds that hold for a caller. */
export interface CallerPolicy {
  /** The key's own, then those of its groups from the inside out; those that have limits. */
  readonly scopes: readonly Scope[]
  /** The innermost group. */
  readonly group: string | undefined
  /** All groups, from the inside out. */
  readonly groups: readonly string[]
  /** Whether it may use a route, by its id; absent: all. */
  readonly mayUse?: (route: string) => boolean
  /** Whether it may come from an address; absent: from all. */
  readonly mayComeFrom?: (address: string) => boolean
  /** The networks that this asks for: one of each list. */
  readonly networks?: readonly (readonly string[])[]
}

/** What holds for all counting of one plan. */
export interface Accounting {
  /** IANA name: windows follow its calendar. */
  readonly timeZone: string
  /** Absent: none is written, since the files have no limits, prices or groups. */
  readonly ledger: { /** Milliseconds. */ readonly retention: number } | undefined
}
