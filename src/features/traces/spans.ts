import { MICRO_PER_USD } from '../../core/cost.js'
import type { Exchange, Route } from '../../core/plan.js'
import { newSpanId } from '../../core/trace.js'
import type { Call } from '../../kernel/call.js'
import { CHARGED } from '../../kernel/charged.js'
import { outcomeOf } from '../../kernel/outcome.js'
import type { AttemptTimes } from '../../kernel/stages.js'
import { operationOf, placeOf, providerOf } from '../metrics/names.js'
import type { Attributes } from '../otlp/attributes.js'
import type { Clock } from './clock.js'
import type { Span, SpanEvent } from './span.js'
import type { EndedAttempt, TracedCall } from './traced-call.js'

/** As the log has it. */
const CLIENT_GONE_STATUS = 499
const FIRST_FAILURE_STATUS = 500
/** Longest name that a client chose, characters. */
const MAX_NAME_CHARS = 200
/** Phases of attempts that say nothing bad of an upstream. */
export const GOOD_PHASES: ReadonlySet<string> = new Set(['ok', 'accepted', 'cancelled', 'skipped'])

/** What is the same for all spans of a route. */
export class RouteSpans {
  readonly #route: Route | undefined
  readonly #method: string | undefined
  readonly #path: string | undefined
  readonly #byExchange = new WeakMap<Exchange, Attributes>()
  readonly #operation: string

  constructor(route: Route | undefined) {
    const [method, path] = route?.id.split(' ') ?? []
    this.#route = route
    this.#method = method === 'WS' ? 'GET' : method
    this.#path = path
    this.#operation = operationOf(route?.protocol?.name ?? 'other')
  }

  /** The spans of a request, its own one first. `now` as `performance.now()`. */
  *of(call: Call, traced: TracedCall, clock: Clock, now: number, events: readonly SpanEvent[]): Generator<Span> {
    yield this.#server(call, traced, clock, now, events)
    const admitted = traced.admitted === 0 ? now : traced.admitted
    if (traced.admitted > 0 || call.error !== undefined) yield admit(call, traced, clock, admitted)
    for (const ended of traced.attempts) yield* this.attempt(ended, traced, clock)
  }

  /** The spans of an attempt. */
  *attempt(ended: EndedAttempt, { trace }: TracedCall, clock: Clock): Generator<Span> {
    const { attempt, outcome, id } = ended
    const { exchange, times } = attempt
    const isError = !GOOD_PHASES.has(outcome.phase)
    const started = clock.at(ended.started)
    yield {
      trace: trace.id,
      id,
      parent: trace.span,
      name: exchange.model === '' ? this.#operation : `${this.#operation} ${exchange.model}`,
      kind: 'client',
      started,
      ended: clock.at(ended.ended),
      attributes: { ...this.#attributesOf(exchange), ...attributesOf(ended, isError) },
      events: times === undefined ? [] : eventsOf(times, clock),
      isError,
    }
    const { translation } = exchange
    if (translation === undefined || times === undefined || times.translating === 0) return
    yield {
      trace: trace.id,
      id: newSpanId(),
      parent: id,
      name: 'translate',
      kind: 'internal',
      started: clock.at(times.translating),
      ended: clock.at(times.translated === 0 ? ended.ended : times.translated),
      attributes: {
        'gateway.translation.from': translation.server.protocol,
        'gateway.translation.to': translation.client.protocol,
        'error.type': times.translated === 0 ? outcome.error?.code : undefined,
      },
      isError: times.translated === 0 && outcome.error !== undefined,
    }
  }

  #server(call: Call, { trace }: TracedCall, clock: Clock, now: number, events: readonly SpanEvent[]): Span {
    const { error, request } = call
    const status = error?.code === 'client_gone' ? CLIENT_GONE_STATUS : call.status
    const outcome = outcomeOf(error, call.status)
    const method = this.#method ?? request.method
    return {
      trace: trace.id,
      id: trace.span,
      parent: trace.parent,
      isRemote: true,
      name: this.#path === undefined ? method : `${method} ${this.#path}`,
      kind: 'server',
      started: clock.at(call.started),
      ended: clock.at(now),
      attributes: {
        'http.request.method': method,
        'http.route': this.#path,
        'url.scheme': request.isEncrypted ? 'https' : 'http',
        'http.response.status_code': status === 0 ? undefined : status,
        'client.address': call.client,
        'http.request.body.size': call.tally.bytesIn,
        'http.response.body.size': call.tally.bytesOut,
        'gen_ai.request.model': call.model === '' ? undefined : call.model.slice(0, MAX_NAME_CHARS),
        'gateway.request_id': call.id,
        'gateway.key': call.caller?.name,
        'gateway.outcome': outcome,
        'gateway.stream': this.#route === undefined ? undefined : call.stream,
        'gateway.generation': call.generation.number,
        'error.type': error?.code ?? (status >= FIRST_FAILURE_STATUS ? String(status) : undefined),
      },
      events,
      isError: outcome === 'upstream_error' || outcome === 'gateway_error',
    }
  }

  #attributesOf(exchange: Exchange): Attributes {
    const known = this.#byExchange.get(exchange)
    if (known !== undefined) return known
    const [address, port] = placeOf(exchange)
    const made: Attributes = {
      'gen_ai.operation.name': this.#operation,
      'gen_ai.provider.name': providerOf(exchange),
      'gen_ai.request.model': exchange.model === '' ? undefined : exchange.model,
      'http.request.method': exchange.call.method,
      'server.address': address === '' ? undefined : address,
      'server.port': port === '' ? undefined : Number(port),
      'gateway.upstream': exchange.upstream.name,
      'gateway.model': exchange.declared === '' ? undefined : exchange.declared,
    }
    this.#byExchange.set(exchange, made)
    return made
  }
}

/** From the arrival of a request to its first attempt: its key, its limits, its body, its candidates. */
function admit(call: Call, { trace, admitted }: TracedCall, clock: Clock, ended: number): Span {
  const isRefused = admitted === 0
  return {
    trace: trace.id,
    id: newSpanId(),
    parent: trace.span,
    name: 'admit',
    kind: 'internal',
    started: clock.at(call.started),
    ended: clock.at(ended),
    attributes: {
      'gateway.candidates': call.candidates.length,
      'error.type': isRefused ? call.error?.code : undefined,
      'gateway.limit': isRefused ? call.error?.details.limit : undefined,
    },
    isError: isRefused && call.error !== undefined && call.error.status >= FIRST_FAILURE_STATUS,
  }
}

function attributesOf({ attempt, outcome }: EndedAttempt, isError: boolean): Attributes {
  const { usage, number, call } = attempt
  const charged = attempt.get(CHARGED)
  return {
    'http.response.status_code': outcome.status,
    'http.request.resend_count': number > 1 ? number - 1 : undefined,
    'gen_ai.usage.input_tokens': usage?.input,
    'gen_ai.usage.output_tokens': usage?.output,
    'gen_ai.usage.cache_read.input_tokens': usage?.cached,
    'gateway.attempt': number,
    'gateway.phase': outcome.phase,
    'gateway.hedge': attempt.beside === undefined ? undefined : true,
    'gateway.task': outcome.task,
    'gateway.cost_usd': charged === undefined ? undefined : charged.cost / MICRO_PER_USD,
    'gateway.dropped': isError || !call.losses?.dropped.length ? undefined : call.losses.dropped,
    'error.type': isError ? (outcome.error?.code ?? outcome.phase) : undefined,
  }
}

function eventsOf({ placed, sent, answered }: AttemptTimes, clock: Clock): readonly SpanEvent[] {
  const events: SpanEvent[] = []
  if (placed > 0) events.push({ name: 'gateway.connection_free', time: clock.at(placed) })
  if (sent > 0) events.push({ name: 'gateway.request_sent', time: clock.at(sent) })
  if (answered > 0) events.push({ name: 'gateway.first_content', time: clock.at(answered) })
  return events
}
