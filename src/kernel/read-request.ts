import { type InBody, MAX_MODEL_CHARS, modelIn, streamIn, violated, wantedVectors } from '../core/admission.js'
import { withDefault } from '../core/default-model.js'
import { GatewayError } from '../core/errors.js'
import type { JsonObject } from '../core/json.js'
import type { Route } from '../core/plan.js'
import type { ModelPointer, Pointer, StreamPointer } from '../core/route-settings.js'
import type { Violation } from '../core/violation.js'
import { demandOfDocument, demandOfScan } from '../wire/demand.js'
import { mostHeapOf } from '../wire/json-cost.js'
import { JsonScanner } from '../wire/json-scan.js'
import { parseSmall } from '../wire/json-small.js'
import type { MemberKeys } from '../wire/member-keys.js'
import { ASCII_BASED } from '../wire/multipart-form.js'
import { isInBody, scannedMembers, scanOptions, schemaOf } from '../wire/scanned-body.js'
import type { Body, Span } from './body.js'
import type { Call } from './call.js'
import { chainOf } from './chain.js'
import { formViolations, readForm } from './form.js'
import { COPIES_PER_BODY } from './memory.js'
import { hasBody, invite, LARGE_BODY_BYTES, readBody } from './read-body.js'
import { type Slot, slot } from './slot.js'
import { VECTORS } from './vectors.js'

/** The model of a request that names none, where its caller decides that. */
export const DEFAULT_MODEL: Slot<string> = slot('default_model')

/** Checks a request's size, form and schema, and reads the model's name and whether a stream is requested. */
export function readRequest(call: Call, route: Route): Body | Promise<Body> {
  const { request } = call
  const limit = call.maxBody
  checkEncoding(call)
  if (route.body === 'none') {
    if (hasBody(request)) invite(request, limit)
    readPointers(call, route, nothing)
    return { type: 'none' }
  }
  const isForm = route.body === 'multipart' && !isJsonInstead(call, route)
  if (route.body === 'json') checkJsonType(call)
  invite(request, limit)
  if (route.body === 'raw') {
    readPointers(call, route, nothing)
    return hasBody(request) ? { type: 'stream' } : { type: 'none' }
  }
  return isForm ? readFields(call, route) : readJson(call, route)
}

async function readFields(call: Call, route: Route): Promise<Body> {
  const body = await readForm(call, route)
  const { validate } = route
  if (validate !== undefined) {
    const check = (form: unknown): readonly Violation[] => formViolations(validate(form), body)
    checkSchema(check, withDefault(body.document, route.model), call, body.value)
  }
  readPointers(call, route, body.value)
  return body
}

function readJson(call: Call, route: Route): Body | Promise<Body> {
  let scanner: JsonScanner | undefined
  const onPiece = (piece: Buffer): boolean => {
    scanner ??= new JsonScanner(scanOptions(route))
    scanner.push(piece)
    call.tally.bytesIn += piece.length
    // A refused body is not stored while the rest of it arrives.
    return !scanner.failed
  }
  const hold = (size: number): Promise<void> | undefined => call.bodyMemory.reserve(COPIES_PER_BODY * size)
  const bytes = readBody(call.request, { limit: call.maxBody, hold, onPiece })
  if (!(bytes instanceof Promise)) return admitJson(call, route, bytes, scanner)
  return bytes.then(whole => admitJson(call, route, whole, scanner))
}

/** `begun` has scanned the body, unless that arrived in one piece. */
function admitJson(call: Call, route: Route, bytes: Buffer, begun: JsonScanner | undefined): Body {
  if (bytes.length > LARGE_BODY_BYTES) call.bodyMemory.shrink(COPIES_PER_BODY * bytes.length)
  if (begun?.failed !== true) call.tally.bytesIn = bytes.length
  const small = begun === undefined ? parseSmall(bytes, scanOptions(route)) : undefined
  if (small !== undefined) {
    const { document } = small
    const validate = schemaOf(route)
    const inBody: InBody = name => document[name]
    if (validate !== undefined) checkSchema(validate, withDefault(document, route.model), call, inBody)
    readPointers(call, route, inBody, inBody)
    readVectors(call, route, inBody)
    const ruled = isRuled(document, bytes, scanOptions(route).ruled)
    const heap = mostHeapOf(bytes.length)
    const demand = isCounted(call) ? demandOfDocument(small, bytes, route.protocol?.amounts) : undefined
    return { type: 'bytes', bytes, heap, model: undefined, named: false, ruled, demand, document }
  }
  const scanner = begun ?? new JsonScanner(scanOptions(route))
  if (begun === undefined) scanner.push(bytes)
  const { heap } = scanner
  const model = readScanned(call, route, scanner, bytes)
  const demand = isCounted(call) ? demandOfScan(scanner, bytes, route.protocol?.amounts) : undefined
  return { type: 'bytes', bytes, heap, model, named: scanner.seen, ruled: scanner.ruled, demand }
}

/** Whether the plan counts what requests ask for. It is read here, while the body is parsed, to avoid parsing it again. */
function isCounted({ generation }: Call): boolean {
  return generation.plan.accounting !== undefined
}

/** For a small document without escaped keys. If two members have one name, the document has only the last one. */
function isRuled(document: JsonObject, bytes: Buffer, keys: MemberKeys | undefined): boolean {
  if (keys === undefined) return false
  for (const key in document) {
    const top = keys.topName(key)
    if (top === 'all' || (top === 'inside' && keys.belowIn(bytes.toString('utf8')))) return true
  }
  return false
}

/** Reads a scanned body; returns the position of the model's name. */
function readScanned(call: Call, route: Route, scanner: JsonScanner, bytes: Buffer): Span | undefined {
  const { control, whole, member } = scannedMembers(route, scanner, bytes, found => noteModel(call, found))
  readPointers(call, route, control, whole)
  readVectors(call, route, member)
  return isInBody(route.model) ? scanner.found(route.model.name) : undefined
}

function checkEncoding(call: Call): void {
  const encoding = call.request.headers['content-encoding']
  if (encoding === undefined || encoding === '' || encoding.toLowerCase() === 'identity') return
  throw new GatewayError('unsupported_media_type', 'Encoded request bodies are not accepted; send plain JSON.', {
    param: 'content-encoding',
  })
}

function checkJsonType(call: Call): void {
  const type = call.request.headers['content-type']
  if (type === undefined || type === 'application/json' || hasJsonType(call)) return
  throw new GatewayError('unsupported_media_type', 'The content type must be application/json; JSON is UTF-8.', {
    param: 'content-type',
  })
}

/** Whether the body is JSON on a route that also accepts forms. A body without a type cannot be a form: a form's type has the boundary. */
function isJsonInstead(call: Call, { validateJson }: Route): boolean {
  if (validateJson === undefined) return false
  const type = call.request.headers['content-type']
  if (type === undefined || hasJsonType(call)) return true
  if (/^\s*multipart\//i.test(type)) return false
  const message = 'The content type must be application/json or multipart/form-data; JSON is UTF-8.'
  throw new GatewayError('unsupported_media_type', message, { param: 'content-type' })
}

function hasJsonType({ request }: Call): boolean {
  const bare = request.headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  return (bare === 'application/json' || bare.endsWith('+json')) && isAsciiBased(request.headers['content-type'])
}

const CHARSET = /;\s*charset\s*=\s*"?([^";\s]*)/gi

/** An upstream that decodes by another charset would read other members than the gateway has. */
function isAsciiBased(type = ''): boolean {
  return [...type.matchAll(CHARSET)].every(([, name = '']) => name === '' || ASCII_BASED.has(name.toLowerCase()))
}

function checkSchema(validate: NonNullable<Route['validate']>, document: unknown, call: Call, inBody: InBody): void {
  const violation = validate(document)[0]
  if (violation === undefined) return
  noteModel(call, inBody)
  throw violated(violation)
}

/** Sets the model for the log of a request that is refused before its model is resolved. */
function noteModel(call: Call, inBody: InBody): void {
  const pointer = call.route?.model
  const named = pointer && readPointer(call, pointer, inBody)
  if (typeof named === 'string' && named.length <= MAX_MODEL_CHARS) call.model = named
}

const nothing: InBody = () => undefined

/** `whole`: values of members with all that is in them, where the body is small enough for that. */
function readPointers(call: Call, route: Route, inBody: InBody, whole?: InBody): void {
  if (route.model !== undefined) call.model = readModel(call, route.model, inBody)
  for (const onMembers of chainOf(call).onMembers) onMembers(call, inBody, whole)
  call.stream = typeof route.stream === 'string' ? route.stream === 'always' : readStream(call, route.stream, inBody)
}

function readVectors(call: Call, { protocol }: Route, inBody: InBody): void {
  if (protocol?.vectors !== undefined) call.set(VECTORS, wantedVectors(protocol.vectors, inBody))
}

function readModel(call: Call, pointer: ModelPointer, inBody: InBody): string {
  const byDefault = call.get(DEFAULT_MODEL)
  const known = byDefault === undefined ? pointer : { ...pointer, byDefault }
  const { model, named } = modelIn(known, readPointer(call, pointer, inBody))
  if (named !== undefined) call.named = named
  return model
}

function readStream(call: Call, pointer: StreamPointer, inBody: InBody): boolean {
  return streamIn(pointer, readPointer(call, pointer, inBody))
}

function readPointer(call: Call, pointer: Pointer, inBody: InBody): unknown {
  switch (pointer.from) {
    case 'body':
    case 'form':
      return inBody(pointer.name)
    case 'path':
      return call.params[pointer.name]
    case 'query':
      return call.query?.get(pointer.name) ?? undefined
    case 'header':
      return headerOf(call, pointer.name)
  }
}

function headerOf({ request }: Call, name: string): string | undefined {
  const value = request.headers[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}
