import {
  checkConversation,
  checkInput,
  type InBody,
  malformedBody,
  modelIn,
  streamIn,
  tooLarge,
  violated,
  wantedVectors,
} from '../../core/admission.js'
import { isLeftOut, withDefault, writesDefault } from '../../core/default-model.js'
import { GatewayError } from '../../core/errors.js'
import { isObject } from '../../core/json.js'
import type { Match, Route } from '../../core/plan.js'
import type { ModelPointer, Pointer } from '../../core/route-settings.js'
import { KEEP_MEMBER, keepsState, mayAskToKeep, namesState } from '../../core/stateful.js'
import type { VectorForm } from '../../core/vectors.js'
import { asBuffer } from '../../wire/bytes.js'
import { JsonScanner } from '../../wire/json-scan.js'
import { withoutKept } from '../../wire/kept-members.js'
import type { Ask } from './ask.js'

/** Rule of an error that says what cannot be explained; no client gets it. */
export const UNREAD = 'unread'

/** What a request turns out to ask for. */
export interface ReadRequest {
  /** `''` on routes without one. */
  readonly model: string
  readonly stream: boolean
  /** Where one was given, and the route takes one. */
  readonly body: Uint8Array | undefined
  /** Where the model's name is in the body. */
  readonly span: { readonly start: number; readonly end: number } | undefined
  /** The member of the body that is to hold the model, where none does. */
  readonly missing?: string
  /** How the body wants vectors to be written. */
  readonly vectors?: VectorForm
  /** If the response runs in the background: whether it may be stored. */
  readonly background?: { readonly isStored: boolean } | undefined
}

type Read = (pointer: Pointer) => unknown

/** Reads and checks the given parts of a request: without a body, `ask` says the rest. */
export function readRequest({ route, params }: Match, query: URLSearchParams | undefined, ask: Ask): ReadRequest {
  const body = bodyOf(route, ask)
  if (body !== undefined && route.body === 'multipart' && route.validateJson === undefined) {
    const message = 'the body of this route is a form, which is not supported here: omit it'
    throw new GatewayError('unsupported_media_type', message, { rule: UNREAD })
  }
  const scanner = body === undefined || !isJson(route) ? undefined : scan(route, body)
  if (body !== undefined && asksToKeep(route, scanner)) {
    return readRequest({ route, params }, query, { ...ask, body: withoutKept(body) })
  }
  const read: Read = ({ from, name }) => {
    if (from === 'path') return params[name]
    if (from === 'query') return query?.get(name) ?? undefined
    return valueAt(scanner?.found(name))
  }
  const model =
    route.model === undefined ? '' : modelOf(route.model, read, scanner === undefined ? ask.model : undefined)
  const members: unknown = body === undefined || scanner === undefined ? undefined : JSON.parse(bufferText(body))
  const member: InBody = name => (isObject(members) ? members[name] : undefined)
  if (members !== undefined) checkState(route, member)
  const isBehind = keepsState(route.protocol?.name, route.lane) && member('background') === true
  const vectors = route.protocol?.vectors && wantedVectors(route.protocol.vectors, member)
  return {
    model,
    stream: streamOf(route, read, ask, scanner !== undefined),
    body,
    ...(vectors === undefined ? {} : { vectors }),
    ...(isBehind && { background: { isStored: member('store') !== false } }),
    ...(route.model === undefined || !inBody(route.model) ? { span: undefined } : placeOf(route.model, scanner)),
  }
}

/** Whether the answer should be kept by the gateway. */
function asksToKeep({ protocol }: Route, scanner: JsonScanner | undefined): boolean {
  return mayAskToKeep(protocol?.name) && valueAt(scanner?.found(KEEP_MEMBER)) === true
}

/** What a request says of its conversation. */
function checkState({ protocol, lane, answer }: Route, member: InBody): void {
  if (keepsState(protocol?.name, lane)) checkInput(member)
  if (namesState(protocol?.name, answer)) checkConversation(member)
}

function bufferText(body: Uint8Array): string {
  return asBuffer(body).toString('utf8')
}

/** One that is too long to be read is there all the same. */
function valueAt(found: ReturnType<JsonScanner['found']>): unknown {
  return found === undefined || found.value !== undefined ? found?.value : {}
}

/** Where the model is, or should be. */
function placeOf(pointer: ModelPointer, scanner: JsonScanner | undefined): Pick<ReadRequest, 'span' | 'missing'> {
  const span = scanner?.found(pointer.name)
  const isMissing = scanner !== undefined && writesDefault(pointer) && isLeftOut(valueAt(span))
  return { span, ...(isMissing && { missing: pointer.name }) }
}

/** Whether a body that is given is read as JSON: also where it could be a form. */
function isJson({ body }: Route): boolean {
  return body === 'json' || body === 'multipart'
}

function inBody({ from }: Pointer): boolean {
  return from === 'body' || from === 'form'
}

function bodyOf(route: Route, { body }: Ask): Uint8Array | undefined {
  if (body === undefined || route.body === 'none') return undefined
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (bytes.length <= route.limits.body) return bytes
  throw tooLarge(route.limits.body)
}

function scan({ body: form, control, limits, ...route }: Route, body: Uint8Array): JsonScanner {
  const validate = form === 'multipart' ? route.validateJson : route.validate
  const scanner = new JsonScanner({ control, depth: limits.depth, members: limits.members, values: limits.values })
  scanner.push(body)
  const problem = scanner.end()
  if (problem !== undefined) throw malformedBody(problem, limits)
  const violation = validate?.(withDefault(JSON.parse(scanner.skeleton()), route.model))[0]
  if (violation !== undefined) throw violated(violation)
  return scanner
}

function modelOf(pointer: ModelPointer, read: Read, asked: string | undefined): string {
  return modelIn(pointer, read(pointer) ?? asked).model
}

function streamOf({ stream }: Route, read: Read, ask: Ask, bodyRead: boolean): boolean {
  if (typeof stream === 'string') return stream === 'always'
  const value = read(stream)
  if (value === undefined || value === null) return !(inBody(stream) && bodyRead) && ask.stream === true
  return streamIn(stream, value)
}
