import type { Outcome, RequestEntry } from '../core/entry.js'
import type { ErrorCode, GatewayError } from '../core/errors.js'
import { Blocked } from '../net/media-url.js'
import { sumOfUsage } from '../wire/usage.js'
import type { Call } from './call.js'
import type { Failure } from './failure.js'
import { traceId } from './heads.js'
import { shortened } from './upstream-words.js'

/** Characters of a path that the log shows. */
const MAX_PATH_CHARS = 200
/** A client's own names of fields stand in it. */
const MAX_PARAM_CHARS = 200

const NOTHING: readonly string[] = []

/** Records the one entry of a settled call. */
export function recordCall(call: Call): void {
  call.kernel.sink.record(account(call))
}

function account(call: Call): RequestEntry {
  const now = performance.now()
  const details = call.error?.details
  return {
    id: call.id,
    trace: traceId(call.request),
    method: call.request.method ?? '',
    route: call.route?.id,
    path: pathOf(call),
    client: call.client,
    key: call.caller?.name,
    model: call.model === '' ? undefined : call.model,
    upstream: call.attempts.at(-1)?.upstream,
    status: call.error?.code === 'client_gone' ? 499 : call.status,
    outcome: outcomeOf(call.error, call.status),
    stream: call.stream,
    error: call.error?.code,
    cause: causeOf(call.error),
    phase: details?.phase,
    limit: details?.limit,
    param: details?.param?.slice(0, MAX_PARAM_CHARS),
    rule: ruleOf(call.error),
    attempts: call.attempts,
    milliseconds: {
      first: call.firstByte === undefined ? undefined : round(call.firstByte - call.started),
      total: round(now - call.started),
    },
    bytes: { in: call.bytesIn, out: call.bytesOut },
    events: call.events,
    trailing: call.trailing,
    truncated: call.truncated,
    early: call.early,
    usage: call.spent === undefined ? call.usage : sumOfUsage(call.usage, call.spent),
    closed: call.closed,
    dropped:
      call.dropped.length === 0
        ? (call.losses?.dropped ?? NOTHING)
        : [...call.dropped, ...(call.losses?.dropped ?? NOTHING)],
    blocked: details?.cause instanceof Blocked ? details.cause.message : undefined,
    generation: call.generation.number,
  }
}

/** Which path nobody serves: told of callers who are known, since anybody else could write what they like. */
function pathOf({ route, caller, path }: Call): string | undefined {
  return route === undefined && caller !== undefined ? path.slice(0, MAX_PATH_CHARS) : undefined
}

function outcomeOf(error: GatewayError | undefined, status: number): Outcome {
  if (error === undefined) return status < 400 ? 'ok' : status < 500 ? 'client_error' : 'upstream_error'
  if (error.code === 'client_gone') return 'client_abort'
  if (error.code === 'internal' || error.code === 'unavailable') return 'gateway_error'
  return error.status < 500 ? 'client_error' : 'upstream_error'
}

/** Refusals of the gateway's own for what a request says. */
const OF_REQUESTS: Partial<Record<ErrorCode, true>> = {
  bad_request: true,
  invalid_parameter: true,
  duplicate_parameter: true,
  untranslatable: true,
}

/** Which rule a refused request breaks: the one that the refusal names, else what the client is told of it. */
function ruleOf(error: GatewayError | undefined): string | undefined {
  if (error === undefined || OF_REQUESTS[error.code] === undefined) return undefined
  const { rule, familyCode, limit, param } = error.details
  return rule ?? familyCode ?? limit ?? (param === undefined ? undefined : 'value')
}

/** Errors whose message, where they have no cause, is what the upstream said or did. It has been cleaned for the client. */
const BY_UPSTREAM: Partial<Record<ErrorCode, true>> = {
  upstream_rejected: true,
  upstream_failed: true,
  rate_limited: true,
  bad_upstream_response: true,
}

/** A stack only for faults of our own; else one line. */
export function causeOf(error: GatewayError | undefined): string | undefined {
  const cause = error?.details.cause
  if (cause === undefined) return error !== undefined && BY_UPSTREAM[error.code] ? shortened(error.message) : undefined
  if (!(cause instanceof Error)) return String(cause)
  if (error?.code === 'internal') return cause.stack
  return 'code' in cause ? `${String(cause.code)}: ${cause.message}` : cause.message
}

/** Keeps why an attempt failed that another one follows. */
export function noteCause({ attempts }: Call, { error }: Failure): void {
  const last = attempts.pop()
  const cause = causeOf(error)
  if (last !== undefined) attempts.push(cause === undefined ? last : { ...last, cause })
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}
