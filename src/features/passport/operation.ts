import type { JsonObject } from '../../core/json.js'
import type { Placement } from '../../core/placement.js'
import type { Plan, Route, RouteSchema } from '../../core/plan.js'
import type { Pointer } from '../../core/route-settings.js'
import { type Answer, answerOf } from './answers.js'
import { code, lossesOn } from './losses.js'
import type { CallerModels } from './models.js'
import type { Permitted } from './permitted.js'

const STREAMS = {
  sse: 'text/event-stream',
  'sse-crlf': 'text/event-stream',
  ndjson: 'application/x-ndjson',
  array: 'application/json',
  'aws-eventstream': 'application/vnd.amazon.eventstream',
}

/** What operations of one document share. */
export interface Shared {
  readonly models: CallerModels
  /** Gives the reference of a schema's component. */
  readonly schema: (schema: RouteSchema) => JsonObject
  /** Gives the reference of an answer's component. */
  readonly answer: (answer: Answer) => JsonObject
  /** Gives the name of a placement's security scheme; undefined where a document cannot say it. */
  readonly security: (placement: Placement) => string | undefined
  readonly isStrict: boolean
}

/** A path as OpenAPI has it: no mark that a value may hold slashes. */
export function pathOf({ id }: Pick<Route, 'id'>): string {
  return id.slice(id.indexOf(' ') + 1).replace(/\{(\w+)\*\}/g, '{$1}')
}

export function operationOf(permitted: Permitted, shared: Shared): JsonObject {
  const { route, names, globs } = permitted
  const path = pathOf(route)
  const schemes = route.caller.flatMap(placement => shared.security(placement) ?? [])
  const parameters = parametersOf(permitted, path, shared)
  const body = bodyOf(permitted, shared)
  const losses = lossesOn(route, shared.models, [...names, ...globs], shared.isStrict)
  return {
    operationId: operationId(route.method, path),
    summary: summaryOf(route),
    ...(losses === undefined ? {} : { description: losses }),
    tags: [route.protocol?.name.split('.')[0] ?? route.task?.kind.name ?? 'gateway'],
    security: schemes.map(scheme => ({ [scheme]: [] })),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: body } }),
    responses: {
      ...(route.method === 'WS'
        ? { 101: { description: 'The WebSocket is open.' } }
        : { '2XX': goodAnswer(route, shared) }),
      '4XX': { $ref: '#/components/responses/Refused' },
      '5XX': { $ref: '#/components/responses/Failed' },
    },
  }
}

function summaryOf({ method, protocol, answer, task }: Route): string {
  const what = answer ?? (task === undefined ? protocol?.name : `${task.kind.name}: ${task.action}`) ?? 'pass'
  return method === 'WS' ? `${what}, a WebSocket` : what
}

/** `post_v1_chat_completions` */
function operationId(method: string, path: string): string {
  return `${method}${path}`.toLowerCase().replace(/\W+/g, '_').replace(/_$/, '')
}

function parametersOf({ route, names, globs }: Permitted, path: string, { models }: Shared): readonly JsonObject[] {
  const model = route.lane === 'answer' ? undefined : route.model
  const schemaFor = (name: string, place: Pointer['from']): JsonObject =>
    model?.name === name && model.from === place ? models.schema(names, globs) : { type: 'string' }
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    ...{ name, in: 'path', required: true },
    schema: schemaFor(name, 'path'),
  }))
  if (model === undefined || (model.from !== 'query' && model.from !== 'header')) return inPath
  const { name, from, byDefault } = model
  return [...inPath, { name, in: from, required: byDefault === undefined, schema: schemaFor(name, from) }]
}

/** By media type; undefined where the route has no body. */
function bodyOf({ route, names, globs }: Permitted, { models, schema }: Shared): JsonObject | undefined {
  const { body, model } = route
  if (body === 'none') return undefined
  if (body === 'raw') return { 'application/octet-stream': { schema: {} } }
  const inBody = route.lane !== 'answer' && (model?.from === 'body' || model?.from === 'form') ? model : undefined
  const named =
    inBody === undefined || inBody.name.includes('.')
      ? []
      : [
          {
            type: 'object',
            properties: { [inBody.name]: withWords(inBody.values, models.schema(names, globs)) },
            ...(inBody.byDefault === undefined ? { required: [inBody.name] } : {}),
          },
        ]
  const content = (declared: RouteSchema | undefined): JsonObject => {
    const all: readonly JsonObject[] = [...(declared === undefined ? [] : [schema(declared)]), ...named]
    const [first = { type: 'object' }] = all
    return { schema: all.length < 2 ? first : { allOf: all } }
  }
  if (body === 'json') return { 'application/json': content(route.schema) }
  return {
    'multipart/form-data': content(route.schema),
    ...(route.jsonSchema === undefined ? {} : { 'application/json': content(route.jsonSchema) }),
  }
}

/** Where words stand for models, or nothing at all does, those are allowed, too. */
function withWords(values: Readonly<Record<string, string>> | undefined, schema: JsonObject): JsonObject {
  if (values === undefined) return schema
  return { anyOf: [schema, { type: 'string', enum: Object.keys(values) }] }
}

const BYTES: JsonObject = { type: 'string', format: 'binary' }

function goodAnswer(route: Route, { answer }: Shared): JsonObject {
  const { stream, framing, protocol } = route
  const whole = answerOf(route)
  const schema = whole && answer(whole)
  const content: Record<string, JsonObject> = {}
  const isBinary = protocol?.binary === true
  if (stream !== 'always') {
    if (schema !== undefined) content['application/json'] = { schema }
    if (schema === undefined || isBinary) content['application/octet-stream'] = { schema: BYTES }
  }
  for (const one of stream === 'never' ? [] : [framing.byDefault, ...Object.values(framing.values)])
    content[STREAMS[one]] = { schema: one === 'array' ? { type: 'array', items: schema ?? {} } : streamOf(route) }
  return { description: 'The answer.', content }
}

/** A stream is one text to OpenAPI, so that words say what is in it. */
function streamOf({ protocol }: Route): JsonObject {
  const end = protocol?.end
  const last = [...(end?.data === undefined ? [] : [`the data ${end.data}`]), ...(end?.events ?? [])].map(code)
  const ends = last.length === 0 ? '' : ` It ends with ${last.join(' or ')}.`
  return {
    type: 'string',
    description: `Messages of the protocol ${code(protocol?.name ?? 'pass')} in order.${ends}`,
  }
}

/** Families of errors differ in shape; all are objects. */
export function refusals(plan: Pick<Plan, 'limits'>): JsonObject {
  const content = { 'application/json': { schema: { type: 'object' } } }
  return {
    Refused: {
      description: `The request is refused. Bodies have at most ${plan.limits.body} bytes, if the route has no other limit.`,
      content,
    },
    Failed: { description: 'The gateway or an upstream failed.', content },
  }
}
