import { GatewayError } from '../core/errors.js'
import type { Exchange } from '../core/plan.js'
import { jsonOfBytes, type MemberFormat, memberFormat } from '../wire/json-of-bytes.js'
import type { Body, HeldBody } from './body.js'
import type { Call } from './call.js'
import { changesOf } from './changes.js'
import { formAsJson, MAX_FILE_BYTES, urlencodedAsJson } from './form-json.js'
import { readBody } from './read-body.js'
import { slot } from './slot.js'
import { isLarge, yieldToEventLoop } from './translate/steps.js'

// Bodies that an upstream takes as JSON, and that the client sent in another format.

/** Large bodies, those that become JSON, and those whose verbs change what they ask for: stages decide again before they are sent. */
export function isInSteps(call: Call, exchange: Exchange, body: Body): boolean {
  if (wayOf(call, exchange, body) !== undefined) return true
  if (body.type === 'bytes' && isLarge(body.bytes.length)) return true
  return body.type !== 'none' && body.type !== 'stream' && exchange.adds?.paths !== undefined
}

/** The body in the format on which the verbs of an exchange work. */
export async function takenBody(call: Call, exchange: Exchange, body: Body): Promise<Body> {
  const way = wayOf(call, exchange, body)
  if (way === undefined) return body
  const made = await way()
  call.cancellation.throwIfCancelled()
  return made
}

/** How a body is read for an exchange that does not take it as it is; undefined: it does. */
function wayOf(call: Call, exchange: Exchange, body: Body): (() => Promise<HeldBody>) | undefined {
  const { formsAs, shape } = exchange
  const format = memberFormat(shape?.body)
  switch (body.type) {
    case 'none':
      return format && noBody
    case 'stream':
      if (isFieldsAsJson(call, formsAs)) return () => fieldsAsJson(call)
      if (format === undefined && call.get(READ) === undefined) return undefined
      return () => bytesAsJson(call, format)
    case 'form':
      return formsAs && (() => formAsJson(call, body, formsAs, changesOf(call, exchange)?.fields))
    case 'bytes':
      return undefined
  }
}

async function noBody(): Promise<never> {
  throw new GatewayError('bad_request', 'A body is required for this model.')
}

async function fieldsAsJson(call: Call): Promise<HeldBody> {
  const { fields = 0, parts = 0 } = call.route?.limits ?? {}
  return urlencodedAsJson(await readBytes(call, fields), parts)
}

/** Bytes in a member of a JSON object; without a format they stay bytes, that another target had to have as a whole. */
async function bytesAsJson(call: Call, format: MemberFormat | undefined): Promise<HeldBody> {
  const bytes = await readBytes(call, MAX_FILE_BYTES)
  if (format === undefined) return { type: 'bytes', bytes, model: undefined }
  const json = jsonOfBytes(bytes, format, call.request.headers['content-type'])
  return { type: 'bytes', bytes: json, model: undefined, made: true }
}

/** The bytes of a body, once one target has needed them as a whole: another one gets the same. */
const READ = slot<Buffer>('bytes of the body')

/** Memory for each byte of a body that becomes JSON: itself, its base64, and the document. */
const COPIES = 4

async function readBytes(call: Call, limit: number): Promise<Buffer> {
  const bytes = call.get(READ) ?? (await firstBytes(call, limit))
  await yieldToEventLoop(bytes.length)
  call.cancellation.throwIfCancelled()
  return bytes
}

async function firstBytes(call: Call, limit: number): Promise<Buffer> {
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
