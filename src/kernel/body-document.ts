import { GatewayError } from '../core/errors.js'
import type { JsonObject } from '../core/json.js'
import { objectOf, type Reading } from '../translate/decode.js'
import { mostHeapOf } from '../wire/json-cost.js'
import type { HeldBody } from './body.js'
import type { MemoryLease } from './memory.js'
import { parsed } from './translate/steps.js'

/** Maximum heap of a body's objects, bytes. */
function heapOfBody({ heap, bytes }: HeldBody): number {
  return heap ?? mostHeapOf(bytes.length)
}

/** A call that reserves memory for a body. */
export interface Waiting {
  readonly memory: MemoryLease
}

/**
 * A request's document, parsed in steps after the call's memory for its objects was reserved; release it when they are
 * dropped. Throws `bad_request`, `unavailable` if there was no memory in time, `too_large` if there can never be enough, and
 * `client_gone`.
 */
export async function documentOfBody(call: Waiting, body: HeldBody, reading?: Reading): Promise<JsonObject> {
  const room = call.memory.reserve(heapOfBody(body))
  if (room !== undefined) await room
  const document = await parsed(body.bytes, reading).catch((cause: unknown) => {
    throw new GatewayError('bad_request', 'The body is not valid JSON.', { cause })
  })
  return objectOf(document)
}
