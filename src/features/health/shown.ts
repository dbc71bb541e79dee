import type { HealthPart, HealthState, PartStanding } from '../../core/health.js'

/** Most models of an upstream that are shown. */
const MAX_SHOWN_MODELS = 100

/** What rests, or is about to be tried again. */
interface ShownState {
  readonly state: HealthState
  readonly reason: string
  /** Milliseconds since the epoch. */
  readonly until: number
}

/** Of an upstream: itself, how many of its secrets rest, and its models. */
export interface ShownHealth extends Partial<ShownState> {
  readonly state: HealthState
  readonly secrets?: readonly (ShownState & { readonly credential: string })[]
  readonly models?: readonly (ShownState & { readonly model: string })[]
  /** Further models that rest. */
  readonly more?: number
}

/** What rests, by the names of upstreams. */
export function shownHealth(standings: readonly PartStanding[], now: number): ReadonlyMap<string, ShownHealth> {
  const shown = new Map<string, ShownHealth>()
  for (const { isOpen, until, reason, ...part } of standings) {
    if (!isOpen) continue
    const state: ShownState = { state: now < until ? 'open' : 'half_open', reason, until: Math.round(until) }
    shown.set(part.upstream, withPart(shown.get(part.upstream) ?? { state: 'closed' }, part, state))
  }
  return shown
}

function withPart(known: ShownHealth, { credential, model }: HealthPart, state: ShownState): ShownHealth {
  const { models = [], secrets = [], more = 0 } = known
  if (credential !== undefined) return { ...known, secrets: [...secrets, { ...state, credential }] }
  if (model === undefined) return { ...known, ...state }
  if (models.length >= MAX_SHOWN_MODELS) return { ...known, more: more + 1 }
  return { ...known, models: [...models, { ...state, model }] }
}
