import type { ErrorCode } from '../../core/errors.js'
import type { Outcome } from '../../kernel/stages.js'

/**
 * What an attempt says of its target. `upstream`: it cannot be reached at all. `credential`: it refuses the gateway's secret
 * for any model. `model`: it fails for this model.
 */
export interface Fault {
  readonly part: 'upstream' | 'credential' | 'model'
  readonly reason: string
  /** The pause that the upstream asked for, milliseconds. */
  readonly asked: number | undefined
  /** Whether it limits the rate: what is limited may be the secret. */
  readonly isLimit: boolean
  /** Nothing was sent, since there was no credential: it says nothing of the upstream itself. */
  readonly isUnsent?: true
}

/** Undefined: it says nothing, since the client, its request or the gateway itself is the cause. */
type Verdict = 'good' | Fault | undefined

/** Errors that are the upstream's doing. A client's own mistakes (`upstream_rejected`) are not among them. */
const OF_UPSTREAM: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'upstream_failed',
  'upstream_unavailable',
  'upstream_timeout',
  'upstream_truncated',
  'bad_upstream_response',
])

const PAYMENT_REQUIRED = 402

export function verdictOf({ phase, status, error }: Outcome): Verdict {
  // Before the upstream is asked the gateway wants a connection, or a stage says no.
  if (phase === 'skipped' || phase === 'queue' || phase === 'descriptors' || phase === 'cancelled') return undefined
  if (phase === 'connect' || phase === 'proxy') return fault('upstream', phase)
  if (phase === 'credential') return { ...fault('credential', phase), isUnsent: true }
  if (error?.code === 'upstream_auth' || status === PAYMENT_REQUIRED) return fault('credential', `status ${status}`)
  if (error?.code === 'rate_limited') {
    return { ...fault('model', `status ${status}`, error.details.retryAfter), isLimit: true }
  }
  if (error !== undefined && OF_UPSTREAM.has(error.code)) {
    // What is left of the time for all attempts says nothing of this one.
    if (error.details.phase === 'total') return undefined
    const reason = phase === 'status' || phase === 'ok' ? `status ${status}` : (error.details.phase ?? phase)
    return fault('model', phase === 'ok' ? 'stream_error' : reason, error.details.retryAfter)
  }
  if (phase === 'unconfirmed') return status === undefined ? fault('model', phase) : undefined
  return phase === 'ok' || phase === 'accepted' ? 'good' : undefined
}

function fault(part: Fault['part'], reason: string, asked?: number): Fault {
  // Nothing at all is asked by a wait of 0.
  return { part, reason, asked: asked === undefined || asked <= 0 ? undefined : asked, isLimit: false }
}
