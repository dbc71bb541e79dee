import { GatewayError } from '../../../core/errors.js'
import { isObject, type Json, type JsonObject } from '../../../core/json.js'
import type { MemoryLease } from '../../../kernel/memory.js'
import { costInTurns, parsed } from '../../../kernel/translate/steps.js'

/**
 * Parses a client's message of at most `maxValues` values, after `memory` has reserved space for its objects. Throws
 * `bad_request` or `invalid_parameter` if the message is not a valid request, `unavailable` if there was no memory in time.
 */
export async function readMessage(bytes: Buffer, maxValues: number, memory: MemoryLease): Promise<JsonObject> {
  const { values, heap } = await costInTurns(bytes, maxValues)
  if (values > maxValues)
    throw new GatewayError('bad_request', `The message has more than ${maxValues} values.`, { limit: 'values' })
  const room = memory.reserve(heap)
  if (room !== undefined) await room
  let message: Json
  try {
    message = await parsed(bytes, { exact: true })
  } catch {
    throw new GatewayError('bad_request', 'The message is not valid JSON.')
  }
  if (!isObject(message)) throw new GatewayError('bad_request', 'The message must be a JSON object.')
  if (message.type !== 'response.create') {
    throw new GatewayError('invalid_parameter', "Only messages of the type 'response.create' are served here.", {
      param: 'type',
      familyCode: 'invalid_value',
    })
  }
  if (message.background === true) {
    throw new GatewayError('invalid_parameter', 'A response over a WebSocket cannot run in the background.', {
      param: 'background',
    })
  }
  return message
}

const STREAM_ID = /^[A-Za-z0-9_.-]{1,256}$/

/** An id that the client chose: every event of the response contains it. */
export function streamId({ stream_id: id }: JsonObject): string | undefined {
  if (id === undefined || id === null) return undefined
  if (typeof id === 'string' && STREAM_ID.test(id)) return id
  throw new GatewayError('invalid_parameter', "'stream_id' must be 1 to 256 letters, digits, dots, _ or -.", {
    param: 'stream_id',
  })
}
