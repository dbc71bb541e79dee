import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/plan.js'
import { jsonOfBytes, memberFormat } from '../wire/json-of-bytes.js'
import type { Body } from './body.js'
import type { Call } from './call.js'
import { changesOf } from './changes.js'
import { formAsJson, MAX_FILE_BYTES, urlencodedAsJson } from './form-json.js'
import { readBody } from './read-body.js'
import { slot } from './slot.js'
import { isLarge, yieldToEventLoop } from './translate/steps.js'

// Bodies that an upstream takes as JSON, and that the client sent in another format.

/** Large bodies, those that become JSON, and those whose verbs change what they ask for: stages decide again before they are sent. */
export function isInSteps(call: Call, { adds, formsAs, shape }: Exchange, body: Body): boolean {
  if (body.type === 'bytes' && isLarge(body.bytes.length)) return true
  if (body.type === 'none') return memberFormat(shape?.body) !== undefined
  if (body.type === 'stream') {
    return call.get(READ) !== undefined || memberFormat(shape?.body) !== undefined || isFieldsAsJson(call, formsAs)
  }
  return adds?.paths !== undefined || (body.type === 'form' && formsAs !== undefined)
}

/** The body in the format on which the verbs of an exchange work. */
export async function takenBody(call: Call, exchange: Exchange, body: Body): Promise<Body> {
  const { formsAs, shape } = exchange
  if (body.type === 'none' && memberFormat(shape?.body) === undefined) return body
  if (body.type === 'none') throw new GatewayError('bad_request', 'A body is required for this model.')
  if (body.type === 'stream') {
    const format = memberFormat(shape?.body)
    const isFields = isFieldsAsJson(call, formsAs)
    if (call.get(READ) === undefined && format === undefined && !isFields) return body
    const limits = call.route?.limits
    const bytes = await readBytes(call, isFields ? (limits?.fields ?? 0) : MAX_FILE_BYTES)
    await yieldToEventLoop(bytes.length)
    call.cancellation.throwIfCancelled()
    if (isFields) return urlencodedAsJson(bytes, limits?.parts ?? 0)
    if (format === undefined) return { type: 'bytes', bytes, model: undefined }
    const json = jsonOfBytes(bytes, format, call.request.headers['content-type'])
    return { type: 'bytes', bytes: json, model: undefined, made: true }
  }
  if (body.type !== 'form' || formsAs === undefined) return body
  const json = await formAsJson(call, body, formsAs, changesOf(call, exchange)?.fields)
  call.cancellation.throwIfCancelled()
  return json
}

/** The bytes of a body, once one target has needed them as a whole: another one gets the same. */
const READ = slot<Buffer>('bytes of the body')

/** Memory for each byte of a body that becomes JSON: itself, its base64, and the document. */
const COPIES = 4

async function readBytes(call: Call, limit: number): Promise<Buffer> {
  const known = call.get(READ)
  if (known !== undefined) return known
  const bytes = await readBody(call.request, {
    limit: Math.min(call.maxBody, limit),
    hold: size => call.bodyMemory.reserve(COPIES * size),
    onPiece: piece => {
      call.tally.bytesIn += piece.length
      return true
    },
  })
  call.tally.bytesIn = bytes.length
  call.set(READ, bytes)
  return bytes
}

/** Whether a body is URL-encoded fields, for an upstream that accepts JSON alone. */
function isFieldsAsJson({ request }: Call, formsAs: Exchange['formsAs']): boolean {
  if (formsAs === undefined) return false
  return /^\s*application\/x-www-form-urlencoded\s*(;|$)/i.test(request.headers['content-type'] ?? '')
}
