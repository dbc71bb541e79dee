import { GatewayError } from '../../core/errors.js'
import { pathText } from '../../core/path-text.js'
import type { Exchange, Route } from '../../core/plan.js'
import type { BatchRule } from '../../core/resources.js'
import type { Body } from '../../kernel/body.js'
import type { Call } from '../../kernel/call.js'
import { alsoChange } from '../../kernel/changes.js'
import { NOT_ALLOWED, order, whyNot } from '../../kernel/resolve.js'
import { yieldToEventLoop } from '../../kernel/translate/steps.js'
import { changesOfRequest } from './changes.js'
import { type BatchRequest, requestsIn } from './requests.js'
import { RESULT_NAMES, ResultNamesDraft } from './result-names.js'

/** Most models of one batch. */
const MAX_MODELS = 64
/** Most names of removed members that one answer reports. */
const MAX_DROPPED = 64
/** Bytes of requests that are changed in one turn of the event loop. */
const STEP_BYTES = 256 * 1024
/** Longest part of a client's text that an error repeats, characters. */
const MAX_SHOWN_CHARS = 256

/** By upstream, best first: the exchange for a model on the requests' route. */
type ExchangesByUpstream = ReadonlyMap<string, Exchange>

/**
 * The exchanges that can take a batch: their upstreams serve the models of all its requests by the requests' own protocol.
 * Records the changes for each: its names of the models, and what is declared for single requests. Throws
 * `model_not_found`, and `invalid_parameter` if no upstream can take the whole batch.
 */
export async function openBatch(
  call: Call,
  route: Route,
  rule: BatchRule,
  body: Body,
  exchanges: readonly Exchange[],
): Promise<readonly Exchange[]> {
  const inner = call.generation.plan.routes.find(({ id }) => id === rule.of)
  if (inner?.model === undefined || body.type !== 'bytes') throw new Error('a batch has requests of a known route')
  await yieldToEventLoop(body.bytes.length)
  const requests = await requestsIn(body.bytes, rule, inner.model.name, inner.control)
  const byModel = exchangesByModel(call, route, inner, requests)
  call.model = requests[0]?.model ?? ''
  const upstreams = sharedBy(byModel, requests)
  const able = upstreams.flatMap(name => exchanges.find(({ upstream }) => upstream.name === name) ?? [])
  if (able.length === 0) throw resourcesElsewhere(upstreams)
  for (const exchange of able) await change(call, inner, exchange, body.bytes, requests, byModel)
  return able
}

/** The exchanges of each model, by its name. */
function exchangesByModel(
  call: Call,
  route: Route,
  inner: Route,
  requests: readonly BatchRequest[],
): ReadonlyMap<string, ExchangesByUpstream> {
  const byModel = new Map<string, ExchangesByUpstream>()
  for (const request of requests) {
    if (byModel.has(request.model)) continue
    if (byModel.size === MAX_MODELS) {
      const message = `The requests of a batch name more than ${MAX_MODELS} models.`
      throw new GatewayError('invalid_parameter', message, { limit: 'models' })
    }
    byModel.set(request.model, exchangesOfModel(call, route, inner, request))
  }
  return byModel
}

function exchangesOfModel(call: Call, route: Route, inner: Route, { model, at }: BatchRequest): ExchangesByUpstream {
  const choice = call.caller?.may(model) === true ? inner.resolve(model) : undefined
  const param = pathText([...at, inner.model?.name ?? ''])
  if (choice === undefined) {
    call.model = model
    const shown = model.slice(0, MAX_SHOWN_CHARS)
    throw new GatewayError(
      'model_not_found',
      `The model \`${shown}\` of '${param}' does not exist, or you may not use it.`,
      {
        param,
        cause: call.caller?.may(model) === true ? whyNot(call) : NOT_ALLOWED,
      },
    )
  }
  const exchanges = order(choice, Math.random)
  const able = exchanges.filter(one => one.translation === undefined && route.speakers.has(one.upstream.name))
  const byModel = new Map<string, Exchange>()
  for (const one of able) if (!byModel.has(one.upstream.name)) byModel.set(one.upstream.name, one)
  if (byModel.size > 0) return byModel
  const names = [...new Set(exchanges.map(({ upstream }) => `'${upstream.name}'`))].join(', ')
  const message = `The model \`${model}\` of '${param}' is served by ${names}, which does not accept batches (it does not speak ${route.protocol?.name}). Send these requests one by one to ${inner.id}.`
  throw new GatewayError('invalid_parameter', message, { param })
}

/** Upstreams that serve all of the models, in the first model's order. */
function sharedBy(
  byModel: ReadonlyMap<string, ExchangesByUpstream>,
  requests: readonly BatchRequest[],
): readonly string[] {
  let left: readonly string[] | undefined
  let before: BatchRequest | undefined
  for (const request of requests) {
    const own = byModel.get(request.model)
    if (own === undefined || request.model === before?.model) continue
    const shared: readonly string[] = left?.filter(name => own.has(name)) ?? [...own.keys()]
    if (shared.length === 0 && before !== undefined)
      throw noSharedUpstream(before, left ?? [], request, [...own.keys()])
    left = shared
    before = request
  }
  return left ?? []
}

function noSharedUpstream(
  one: BatchRequest,
  its: readonly string[],
  other: BatchRequest,
  others: readonly string[],
): GatewayError {
  const describe = ({ model, at }: BatchRequest, names: readonly string[]): string =>
    `\`${model}\` of '${pathText(at)}' by ${names.map(name => `'${name}'`).join(', ')}`
  const message = `All requests of a batch must be served by one upstream, but ${describe(one, its)}, ${describe(other, others)}. Send one batch for each.`
  return new GatewayError('invalid_parameter', message, { param: pathText(other.at) })
}

function resourcesElsewhere(upstreams: readonly string[]): GatewayError {
  const names = upstreams.map(name => `'${name}'`).join(', ')
  const message = `The files that the requests name are not at ${names}, which serves their models. Upload them again, and name the model.`
  return new GatewayError('invalid_parameter', message)
}

/** Records the batch's changes for an exchange. */
async function change(
  call: Call,
  inner: Route,
  exchange: Exchange,
  bytes: Buffer,
  requests: readonly BatchRequest[],
  byModel: ReadonlyMap<string, ExchangesByUpstream>,
): Promise<void> {
  const names = new ResultNamesDraft()
  const dropped = new Set<string>()
  const edits = []
  let read = 0
  for (const request of requests) {
    const way = byModel.get(request.model)?.get(exchange.upstream.name)
    if (way === undefined) continue
    const changes = changesOfRequest(call, inner, way, bytes, request)
    edits.push(...changes.edits)
    names.add(request.id, request.model, way.model)
    for (const name of changes.dropped) if (dropped.size < MAX_DROPPED) dropped.add(name)
    if (request.end - read < STEP_BYTES) continue
    read = request.end
    await yieldToEventLoop(Number.POSITIVE_INFINITY)
  }
  alsoChange(call, exchange, edits, [...dropped])
  const found = names.names
  if (found !== undefined)
    call.set(RESULT_NAMES, new Map([...(call.get(RESULT_NAMES) ?? []), [exchange.upstream.name, found]]))
}
