import type { JsonObject } from './json.js'

/** When a target counts as failing, and for how long it is then put behind the others. Durations in milliseconds. */
export interface HealthRule {
  /** Failures one after the other. */
  readonly failures: number
  /** Share of the requests within `window` that fail, above 0 and at most 1. */
  readonly rate: number
  /** Fewest requests within `window` for that share to count. */
  readonly requests: number
  readonly window: number
  /** First content that comes later than this is a failure, too. Absent: it may take as long as the time-outs allow. */
  readonly slow?: number
  /** The first pause; each further one without a lasting recovery is twice as long. */
  readonly cooldown: number
  readonly max_cooldown: number
}

/** A request that asks an upstream whether it answers. Durations in milliseconds. */
export interface ProbeConfig {
  readonly every: number
  readonly timeout: number
  /** Absent: the list of models. */
  readonly call?: { readonly method: string; readonly target: string }
  readonly body?: JsonObject
}

/** What a level of the configuration says of it. */
export interface HealthSettings extends Partial<HealthRule> {
  /** Whether health is learned at all; absent: as the level above has it. */
  readonly isOn?: boolean
  readonly probe?: ProbeConfig
}

/** What health is learned of: an upstream, one of its credentials, or a model on it. */
export interface HealthPart {
  readonly upstream: string
  /** Which upstream of that name: generations, and gateways of one store, may have several. */
  readonly definition: string
  /** The credential's reference, never the secret; empty where there is none. */
  readonly credential?: string
  /** By the upstream's name for it. */
  readonly model?: string
}

/** `half_open`: its pause is over, and one request is to show whether it works again. */
export type HealthState = 'closed' | 'open' | 'half_open'

/** What of a circuit others may know: other processes, the admin API. Moments in milliseconds since the epoch. */
export interface Standing {
  readonly isOpen: boolean
  /** Until when it is open. */
  readonly until: number
  /** How often it has opened without a lasting recovery. */
  readonly openings: number
  /** When it opened or closed last. */
  readonly changed: number
  /** Why it opened. */
  readonly reason: string
}

export interface PartStanding extends HealthPart, Standing {}

export interface HealthChange extends HealthPart {
  readonly to: HealthState
  readonly reason: string
  /** How long it stays open, milliseconds. */
  readonly pause: number
}

/** Whether a value from elsewhere is a standing: another version of the program may have written it. */
export function isStanding(value: unknown): value is PartStanding {
  if (typeof value !== 'object' || value === null) return false
  const { upstream, definition, credential, model, reason, ...standing } = value as Record<string, unknown>
  const { isOpen, until, openings, changed } = standing
  const isText = [upstream, definition, credential ?? '', model ?? '', reason].every(one => typeof one === 'string')
  return isText && typeof isOpen === 'boolean' && [until, openings, changed].every(one => Number.isFinite(one))
}
