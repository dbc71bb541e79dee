import type { AttemptNote, CommonParts, RequestEntry } from '../../core/entry.js'
import type { ErrorCode, GatewayError } from '../../core/errors.js'
import type { Call } from '../../kernel/call.js'
import { CHARGED } from '../../kernel/charged.js'
import { CLOSED } from '../../kernel/closed.js'
import { copied } from '../../kernel/inner.js'
import { causeOf, outcomeOf } from '../../kernel/outcome.js'
import type { Feature } from '../../kernel/stages.js'
import { Blocked } from '../../net/media-url.js'
import { commonParts } from '../../sinks/request-line.js'

/** Maximum length of a logged path, characters. */
const MAX_PATH_CHARS = 200
/** Maximum length of a logged parameter's name, which the client chose, characters. */
const MAX_PARAM_CHARS = 200

const NOTHING: readonly string[] = []

/** Most combinations of key, model and target whose parts are cached for a route; then the cache is cleared. */
const MAX_KNOWN_PARTS = 1024

/** The log line of each call. */
export const log: Feature = {
  name: 'log',
  compile: ({ kernel, route }) => {
    const { sink } = kernel
    const known = new KnownParts()
    const record = (call: Call): void => {
      const [attempt] = call.attempts
      if (route === undefined || attempt === undefined || !isGood(call)) sink.record(account(call))
      else sink.recordGood(call, known.parts(call, attempt), costOf(call))
    }
    return { name: 'log', record }
  },
}

/** What the ledger has of its attempts, millionths of a USD. Undefined: nothing. */
function costOf({ lastAttempt }: Call): number | undefined {
  let cost: number | undefined
  for (let attempt = lastAttempt; attempt !== undefined; attempt = attempt.before) {
    const charged = attempt.get(CHARGED)
    if (charged !== undefined) cost = (cost ?? 0) + charged.cost
  }
  return cost
}

/** Whether one attempt answered it well, so that its line has only the common parts. */
function isGood(call: Call): boolean {
  const { attempts, error, status, tally, dropped, losses, request } = call
  const { trailing, truncated, early } = tally
  if (error !== undefined || status >= 400 || call.get(CLOSED) !== undefined) return false
  if (trailing > 0 || truncated || early || dropped.length > 0 || (losses !== undefined && losses.dropped.length > 0))
    return false
  if (copied(request) !== undefined) return false
  return attempts.length === 1 && attempts[0]?.phase === 'ok'
}

interface Known {
  readonly attempt: AttemptNote
  readonly method: string | undefined
  readonly parts: CommonParts
  /** Of another target of the same key and model: a strategy may change it with each request. */
  readonly next: Known | undefined
}

/** The common parts of a route's lines, by key, model and target. */
class KnownParts {
  readonly #byKey = new Map<string | undefined, Map<string, Known>>()
  #count = 0

  parts(call: Call, attempt: AttemptNote): CommonParts {
    const { method } = call.request
    let known = this.#byKey.get(call.caller?.name)?.get(call.model)
    for (; known !== undefined; known = known.next) {
      const isSame = known.attempt.model === attempt.model && known.attempt.upstream === attempt.upstream
      if (isSame && known.method === method) return known.parts
    }
    return this.#add(call, attempt, method)
  }

  #add(call: Call, attempt: AttemptNote, method: string | undefined): CommonParts {
    const { upstream, model: target } = attempt
    const [key, model] = [call.caller?.name, call.model]
    const named = { method: method ?? '', route: call.route?.id, key, model: modelOf(call), upstream, target }
    const parts = commonParts(named)
    if (this.#count >= MAX_KNOWN_PARTS) {
      this.#byKey.clear()
      this.#count = 0
    }
    const ofKey = this.#byKey.get(key) ?? new Map<string, Known>()
    this.#count++
    this.#byKey.set(key, ofKey.set(model, { attempt, method, parts, next: ofKey.get(model) }))
    return parts
  }
}

/** The requested model, if there is one. */
function modelOf({ model }: Call): string | undefined {
  return model === '' ? undefined : model
}

/** What the log has of a call. */
export function account(call: Call): RequestEntry {
  const details = call.error?.details
  return {
    id: call.id,
    trace: call.trace.id,
    copyOf: copied(call.request)?.of,
    method: call.request.method,
    route: call.route?.id,
    path: pathOf(call),
    client: call.client,
    key: call.caller?.name,
    model: modelOf(call),
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
      first: call.tally.firstByte === undefined ? undefined : round(call.tally.firstByte - call.started),
      total: round(call.ended - call.started),
    },
    bytes: { in: call.tally.bytesIn, out: call.tally.bytesOut },
    events: call.tally.events,
    trailing: call.tally.trailing,
    truncated: call.tally.truncated,
    early: call.tally.early,
    usage: call.usage,
    cost: costOf(call),
    closed: call.get(CLOSED),
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

/** Error codes that concern the request's content. */
const OF_REQUESTS: Partial<Record<ErrorCode, true>> = {
  bad_request: true,
  invalid_parameter: true,
  duplicate_parameter: true,
  untranslatable: true,
}

/** The rule that a refused request breaks: the one that the refusal names (the check of that name), else the message for the client. */
function ruleOf(error: GatewayError | undefined): string | undefined {
  if (error === undefined || (OF_REQUESTS[error.code] === undefined && error.details.phase !== 'check'))
    return undefined
  const { rule, familyCode, limit, param } = error.details
  return rule ?? familyCode ?? limit ?? (param === undefined ? undefined : 'value')
}

function round(milliseconds: number): number {
  return Math.round(milliseconds * 100) / 100
}
