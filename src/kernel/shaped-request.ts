import { Readable } from 'node:stream'
import { GatewayError } from '../core/errors.js'
import { headersWithout } from '../core/header-list.js'
import { type Json, parseJson } from '../core/json.js'
import type { Params } from '../core/params.js'
import type { Exchange } from '../core/plan.js'
import { ruleUsed } from '../core/rule-watch.js'
import type { RequestShape, SentValue } from '../core/shape.js'
import type { UpstreamRequest } from '../net/pools.js'
import { asBuffer } from '../wire/bytes.js'
import { bytesOf, type Formatted, multipartOf, urlencodedOf } from '../wire/form-of-json.js'
import { findValue, removeMember, setValue } from '../wire/json-edit.js'
import type { FormBody } from './body.js'
import type { Call } from './call.js'
import { formFor } from './form.js'
import { takenValues } from './taken-values.js'

// Values that move between a request's body and its path, query and headers, and bodies that are sent in another format.

/** Longest value that leaves the body, in characters. */
const MAX_SENT_CHARS = 2048

/** What left the body. */
interface Placed {
  readonly params: Params
  readonly query: URLSearchParams
  /** Name and value in turn; these win over what is there. */
  readonly headers: readonly string[]
}

/** The body with what `take` names. */
export function withTaken(shape: RequestShape, call: Call, exchange: Exchange, body: Uint8Array): Uint8Array {
  return takenValues(shape, call, exchange).reduce(
    (bytes, [path, value]) => setValue(bytes, path, JSON.stringify(value), 'always'),
    body,
  )
}

/** Whether a parameter of the client's query goes into the body. */
export function isTaken(shape: RequestShape | undefined, name: string): boolean {
  return shape?.taken.some(one => one.from === 'query' && one.name === name) === true
}

type Shaped = UpstreamRequest & { readonly placed: Placed }

/** A JSON request without what `send` names, and its body in the format that the upstream takes. Others keep their body. */
export function shapedJson(shape: RequestShape, request: UpstreamRequest): Shaped {
  const { body, headers } = request
  if (!(body instanceof Uint8Array)) return { ...request, placed: placedBy(shape, () => undefined) }
  let rest: Uint8Array = body
  const placed = placedBy(shape, ({ path }) => {
    const found = findValue(rest, path)
    if (found === undefined) return undefined
    const written = asBuffer(rest).toString('utf8', found.start, found.end)
    rest = removeMember(rest, path)
    const value = parseJson(written)
    return typeof value === 'number' ? written : value
  })
  const other = formatted(shape, rest)
  const own = replacing(headers, placed.headers)
  if (other === undefined) return { ...request, headers: own, body: rest, placed }
  return {
    ...request,
    headers: replacing(own, ['content-type', other.type]),
    body: other.bytes,
    document: rest,
    placed,
  }
}

/** A form without the fields that `send` names; or one of its files as the whole body. */
export function shapedForm(
  shape: RequestShape,
  form: FormBody,
  call: Call,
  exchange: Exchange,
  request: UpstreamRequest,
): Shaped {
  const changes = formFor(form, call, exchange)
  const placed = placedBy(shape, ({ path }) => changes.value(path.join('.')))
  const headers = replacing(request.headers, placed.headers)
  if (typeof shape.body !== 'object' || !('bytes' in shape.body)) return { ...request, headers, placed }
  const { body, type, length } = fileOf(form, shape.body.bytes)
  return {
    ...request,
    headers: replacing(headers, ['content-type', type, 'content-length', String(length)]),
    body,
    placed,
  }
}

/** What `send` names, of values that are read one by one; `undefined` and null are not sent. */
function placedBy({ sent }: RequestShape, read: (sent: SentValue) => Json | undefined): Placed {
  const params: Record<string, string> = {}
  const query = new URLSearchParams()
  const headers: string[] = []
  for (const one of sent) {
    const text = textOf(one, read(one))
    if (text === undefined) continue
    ruleUsed(one)
    if (one.to === 'path') params[one.name] = text
    else if (one.to === 'query') query.append(one.name, text)
    else headers.push(one.name, text)
  }
  return { params, query, headers }
}

/** Visible ASCII and spaces within: what each HTTP library takes as the value of a header. */
const HEADER_VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/

function textOf(sent: SentValue, value: Json | undefined): string | undefined {
  const param = sent.path.join('.')
  const isMissing = value === undefined || value === null || value === ''
  if (isMissing && sent.to !== 'path') return undefined
  if (isMissing) throw missing(param)
  const text = typeof value === 'object' ? '' : String(value)
  const fits =
    text !== '' &&
    text.length <= MAX_SENT_CHARS &&
    (sent.to !== 'path' || (text !== '.' && text !== '..')) &&
    (sent.to !== 'header' || HEADER_VALUE.test(text))
  if (fits) return text
  throw new GatewayError('invalid_parameter', `'${param}' must be a short text for this model.`, { param })
}

/** Headers, of which others replace those with the same name. */
function replacing(headers: readonly string[], others: readonly string[]): string[] {
  const names = new Set(others.filter((_, index) => index % 2 === 0))
  return [...headersWithout(headers, name => names.has(name.toLowerCase())), ...others]
}

/** A JSON body in the format that the upstream takes. */
function formatted(shape: RequestShape, document: Uint8Array): Formatted | undefined {
  const { body } = shape
  if (body === undefined || (typeof body === 'object' && !('bytes' in body))) return undefined
  try {
    if (body === 'form') return multipartOf(document)
    if (body === 'urlencoded') return urlencodedOf(document)
  } catch (cause) {
    throw new GatewayError('bad_request', 'The body does not have the format that this model needs.', { cause })
  }
  const bytes = bytesOf(document, body.bytes)
  if (bytes === 'absent') throw missing(body.bytes)
  if (bytes !== 'not base64') return bytes
  const message = `'${body.bytes}' must be base64 or a data URL for this model.`
  throw new GatewayError('invalid_parameter', message, { param: body.bytes })
}

/** The bytes of one file of a form, with its media type, as the whole body. */
function fileOf(
  { form, spool }: FormBody,
  member: string,
): { readonly body: UpstreamRequest['body']; readonly type: string; readonly length: number } {
  const found = form.parts.findLast(({ part }) => part.name === member)?.part
  if (found === undefined) throw missing(member)
  return {
    body: Readable.from(spool.read(found.start, found.end), { objectMode: false }),
    type: found.head.type ?? 'application/octet-stream',
    length: found.end - found.start,
  }
}

function missing(param: string): GatewayError {
  const familyCode = 'missing_required_parameter'
  return new GatewayError('invalid_parameter', `'${param}' is required for this model.`, { param, familyCode })
}
