import type { Codec } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import type { JsonObject } from '../../core/json.js'
import type { TextRequest } from '../../core/text.js'
import { type DecodedRequest, readingOf } from '../../translate/decode.js'
import { type Recalled, recallSeals } from '../../translate/seals.js'
import type { Body } from '../body.js'
import { documentOfBody } from '../body-document.js'
import type { Call } from '../call.js'
import { formDocument } from '../form-json.js'
import { embeddedCost } from './embedded.js'
import { hooksOf } from './hooks.js'
import { isLarge, yieldToEventLoop } from './steps.js'

/** Decodes the body by the client's protocol. Throws `bad_request` or `invalid_parameter`. */
export async function decodeRequest(call: Call, body: Body, server: Codec): Promise<DecodedRequest> {
  const hooks = hooksOf(call)
  const { items, bytes } = hooks.earlier ?? NOTHING_EARLIER
  const room = bytes === 0 ? undefined : call.memory.reserve(HEAP_BYTES_PER_TURN_BYTE * bytes)
  if (room !== undefined) await room
  const { document, size: own } = await documentOf(call, body, server)
  const size = own + bytes
  await yieldToEventLoop(size)
  const whole = (await hooks.onDocument?.(document)) ?? document
  await yieldToEventLoop(size)
  try {
    const request = server.server.decodeRequest(whole, call)
    if (isLarge(size) && 'turns' in request) await reserveEmbedded(call, request)
    const recalled = await recalledFor(call, request, server)
    return { body: document, size, request, inherited: items, recalled }
  } catch (cause) {
    throw cause instanceof GatewayError ? (hooks.placed?.(cause) ?? cause) : cause
  }
}

const NOTHING_EARLIER = { items: 0, bytes: 0 }

/** JSON inside strings may be parsed into objects, too. */
async function reserveEmbedded(call: Call, { turns }: TextRequest): Promise<void> {
  const maxValues = call.route?.limits.values ?? 0
  const { values, heap } = await embeddedCost(
    turns.map(({ parts }) => parts),
    maxValues,
  )
  if (values > maxValues)
    throw new GatewayError('bad_request', `The calls of the body have more than ${maxValues} values.`, {
      limit: 'values',
    })
  const room = call.memory.reserve(heap)
  if (room !== undefined) await room
}

/** Heap for each byte of a stored conversation: it has many small items. */
const HEAP_BYTES_PER_TURN_BYTE = 8

/** A body as its protocol's JSON, and its approximate size in bytes. */
async function documentOf(
  call: Call,
  body: Body,
  server: Codec,
): Promise<{ readonly document: JsonObject; readonly size: number }> {
  if (body.type === 'form') return formDocument(call, body)
  if (body.type !== 'bytes')
    throw new GatewayError('bad_request', 'Bodies of this route are not read, so they cannot be translated.')
  return { document: await documentOfBody(call, body, readingOf(server)), size: body.bytes.length }
}

const NOTHING: Recalled = new Map()

/** Finds the stored seals for clients whose protocol cannot send them back. */
async function recalledFor(
  call: Call,
  request: DecodedRequest['request'],
  { operation, protocol, server }: Codec,
): Promise<Recalled> {
  if (operation !== 'text' || !('turns' in request) || ('returnsSeals' in server && server.returnsSeals)) return NOTHING
  return recallSeals(call.kernel.sealMemory, call.caller?.name, request, protocol)
}
