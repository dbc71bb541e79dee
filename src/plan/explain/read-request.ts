import { checkState, type InBody, modelIn, streamIn, tooLarge, wantedVectors } from '../../core/admission.js'
import { isLeftOut, writesDefault } from '../../core/default-model.js'
import { GatewayError } from '../../core/errors.js'
import type { Match, Route } from '../../core/plan.js'
import type { ModelPointer, Pointer } from '../../core/route-settings.js'
import { KEEP_MEMBER, keepsState, mayAskToKeep } from '../../core/stateful.js'
import type { VectorForm } from '../../core/vectors.js'
import { asBuffer } from '../../wire/bytes.js'
import { JsonScanner } from '../../wire/json-scan.js'
import { withoutKept } from '../../wire/kept-members.js'
import { isInBody, scannedMembers, scanOptions } from '../../wire/scanned-body.js'
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

/** Reads and checks the given parts of a request: without a body, `ask` says the rest. `maxBody`: bytes. */
export function readRequest(
  { route, params }: Match,
  query: URLSearchParams | undefined,
  ask: Ask,
  maxBody: number,
): ReadRequest {
  const body = bodyOf(route, ask, maxBody)
  if (body !== undefined && route.body === 'multipart' && route.validateJson === undefined) {
    const message = 'the body of this route is a form, which is not supported here: omit it'
    throw new GatewayError('unsupported_media_type', message, { rule: UNREAD })
  }
  const scanned = body === undefined || !isJson(route) ? undefined : scan(route, asBuffer(body))
  const scanner = scanned?.scanner
  if (body !== undefined && asksToKeep(route, scanner)) {
    return readRequest({ route, params }, query, { ...ask, body: withoutKept(body) }, maxBody)
  }
  const read: Read = ({ from, name }) => {
    if (from === 'path') return params[name]
    if (from === 'query') return query?.get(name) ?? undefined
    // Headers are not part of what is asked: `model` says what they would.
    if (from === 'header') return undefined
    return scanned?.control(name)
  }
  const model =
    route.model === undefined
      ? ''
      : modelOf(route.model, read, scanner === undefined || !isInBody(route.model) ? ask.model : undefined)
  const member: InBody = scanned?.member ?? (() => undefined)
  if (scanned !== undefined) checkState(route, scanned.control)
  const isBehind = keepsState(route.protocol?.name, route.lane) && member('background') === true
  const vectors = route.protocol?.vectors && wantedVectors(route.protocol.vectors, member)
  return {
    model,
    stream: streamOf(route, read, ask, scanner !== undefined),
    body,
    ...(vectors === undefined ? {} : { vectors }),
    ...(isBehind && { background: { isStored: member('store') !== false } }),
    ...(route.model === undefined || !isInBody(route.model) ? { span: undefined } : placeOf(route.model, scanner)),
  }
}

/** Whether the answer should be kept by the gateway. */
function asksToKeep({ protocol }: Route, scanner: JsonScanner | undefined): boolean {
  return mayAskToKeep(protocol?.name) && valueAt(scanner?.found(KEEP_MEMBER)) === true
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

function scan(route: Route, body: Buffer): ReturnType<typeof scannedMembers> & { readonly scanner: JsonScanner } {
  const scanner = new JsonScanner(scanOptions(route))
  scanner.push(body)
  return { ...scannedMembers(route, scanner, body), scanner }
}

/** Whether a body that is given is read as JSON: also where it could be a form. */
function isJson({ body }: Route): boolean {
  return body === 'json' || body === 'multipart'
}

function bodyOf(route: Route, { body }: Ask, maxBody: number): Uint8Array | undefined {
  if (body === undefined || route.body === 'none') return undefined
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  if (bytes.length <= maxBody) return bytes
  throw tooLarge(maxBody)
}

function modelOf(pointer: ModelPointer, read: Read, asked: string | undefined): string {
  return modelIn(pointer, read(pointer) ?? asked).model
}

function streamOf({ stream }: Route, read: Read, ask: Ask, bodyRead: boolean): boolean {
  if (typeof stream === 'string') return stream === 'always'
  const value = read(stream)
  if (value === undefined || value === null) return !(isInBody(stream) && bodyRead) && ask.stream === true
  return streamIn(stream, value)
}
