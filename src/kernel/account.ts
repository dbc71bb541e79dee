import type { Outcome, RequestEntry } from '../core/entry.js'
import type { ErrorCode, GatewayError } from '../core/errors.js'
import { Blocked } from '../net/media-url.js'
import { sumOfUsage } from '../wire/usage.js'
import type { Call } from './call.js'
import type { Failure } from './failure.js'
import { traceId } from './heads.js'
import type { Feature } from './stages.js'
import { shortened } from './upstream-words.js'

/** Maximum length of a logged path. */
const MAX_PATH_CHARS = 200
/** Maximum length of a logged parameter name, which the client chose. */
const MAX_PARAM_CHARS = 200

const NOTHING: readonly string[] = []

/** The log line of each call. */
export const log: Feature = {
  name: 'log',
  compile: ({ kernel }) => ({ name: 'log', record: call => kernel.sink.record(account(call)) }),
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

/** The unknown path of a request; only for authenticated callers, because others could fill the log. */
function pathOf({ route, caller, path }: Call): string | undefined {
  return route === undefined && caller !== undefined ? path.slice(0, MAX_PATH_CHARS) : undefined
}

function outcomeOf(error: GatewayError | undefined, status: number): Outcome {
  if (error === undefined) return status < 400 ? 'ok' : status < 500 ? 'client_error' : 'upstream_error'
  if (error.code === 'client_gone') return 'client_abort'
  if (error.code === 'internal' || error.code === 'unavailable') return 'gateway_error'
  return error.status < 500 ? 'client_error' : 'upstream_error'
}

/** Error codes of refusals that concern the request's content. */
const OF_REQUESTS: Partial<Record<ErrorCode, true>> = {
  bad_request: true,
  invalid_parameter: true,
  duplicate_parameter: true,
  untranslatable: true,
}

/** The rule that a refused request breaks: the one that the refusal names, else the message for the client. */
function ruleOf(error: GatewayError | undefined): string | undefined {
  if (error === undefined || OF_REQUESTS[error.code] === undefined) return undefined
  const { rule, familyCode, limit, param } = error.details
  return rule ?? familyCode ?? limit ?? (param === undefined ? undefined : 'value')
}

/** Errors whose message, if they have no cause, is the upstream's. It has been cleaned for the client. */
const BY_UPSTREAM: Partial<Record<ErrorCode, true>> = {
  upstream_rejected: true,
  upstream_failed: true,
  rate_limited: true,
  bad_upstream_response: true,
}

/** A stack for internal errors only; else one line. */
export function causeOf(error: GatewayError | undefined): string | undefined {
  const cause = error?.details.cause
  if (cause === undefined) return error !== undefined && BY_UPSTREAM[error.code] ? shortened(error.message) : undefined
  if (!(cause instanceof Error)) return String(cause)
  if (error?.code === 'internal') return cause.stack
  return 'code' in cause ? `${String(cause.code)}: ${cause.message}` : cause.message
}

/** Records why an attempt failed, before the next one. */
export function noteCause({ attempts }: Call, { error }: Failure): void {
  const last = attempts.pop()
  const cause = causeOf(error)
  if (last !== undefined) attempts.push(cause === undefined ? last : { ...last, cause })
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}
