import { type CallerPolicy, hasBudget, type Scope, type Tariff } from '../../core/bounds.js'
import { type Claim, claimOf } from './reservation.js'

/** What stages ask of scopes, worked out once for each list of them. */
export interface ScopeSummary {
  readonly scopes: readonly Scope[]
  /** Of those, the ones with bounds of tokens or budgets. */
  readonly spending: readonly Scope[]
  readonly hasBudget: boolean
  readonly hasStreams: boolean
  /** What each request takes when it is admitted; none where it takes nothing. */
  readonly admission: readonly Claim[]
  /** The same for a tunnel, which is a stream from its beginning. */
  readonly tunnel: readonly Claim[]
  readonly streams: readonly Claim[]
  /** The smallest of the scopes. */
  readonly body: number | undefined
  readonly maxOutput: number | undefined
  /** How long a request waits for room, milliseconds. */
  readonly queue: number | undefined
  /** Whether the bounds have any of requests or tokens, which headers report. */
  readonly hasRates: boolean
}

const OF_SCOPES = new WeakMap<readonly Scope[], ScopeSummary>()
const OF_NONE = compile([])
/** That of the last list: several stages ask for it in turn. */
let last = OF_NONE

export function summaryOf({ scopes }: Pick<CallerPolicy | Tariff, 'scopes'>): ScopeSummary {
  if (scopes === last.scopes) return last
  if (scopes.length === 0) return OF_NONE
  let known = OF_SCOPES.get(scopes)
  if (known === undefined) {
    known = compile(scopes)
    OF_SCOPES.set(scopes, known)
  }
  last = known
  return known
}

function compile(scopes: readonly Scope[]): ScopeSummary {
  // The same list where all do: what is known of a list is kept by it.
  const has = (test: (scope: Scope) => boolean): readonly Scope[] => {
    const found = scopes.filter(test)
    return found.length === scopes.length ? scopes : found
  }
  const bounds = scopes.flatMap(({ limits }) => limits.bounds)
  const streams = has(({ limits }) => limits.streams !== undefined)
  const admitted = has(
    ({ limits }) => limits.in_flight !== undefined || limits.bounds.some(({ unit }) => unit === 'requests'),
  )
  const tunneled = has(scope => admitted.includes(scope) || streams.includes(scope))
  return {
    scopes,
    spending: has(({ limits }) => limits.bounds.some(({ unit }) => unit !== 'requests')),
    hasBudget: hasBudget({ bounds }),
    hasStreams: streams.length > 0,
    admission: claim(admitted, { requests: 1, in_flight: 1 }),
    tunnel: claim(tunneled, { requests: 1, in_flight: 1, streams: 1 }),
    streams: claim(streams, { streams: 1 }),
    body: smallest(scopes.map(({ limits }) => limits.body)),
    maxOutput: smallest(scopes.map(({ limits }) => limits.max_output)),
    queue: smallest(scopes.map(({ limits }) => limits.queue)),
    hasRates: bounds.some(({ unit }) => unit !== 'budget'),
  }
}

function claim(scopes: readonly Scope[], amounts: Claim['amounts']): readonly Claim[] {
  return scopes.length === 0 ? [] : [claimOf(scopes, amounts)]
}

function smallest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter(value => value !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}
