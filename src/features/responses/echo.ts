import { repeatedMembers } from '../../codecs/responses/response-object.js'
import type { JsonObject } from '../../core/json.js'

/** A new response, made of its request alone. `created` in milliseconds since the epoch. */
export function blankResponse(id: string, created: number, body: JsonObject, status: string): JsonObject {
  const created_at = Math.floor(created / 1000)
  return {
    ...repeatedMembers(body),
    id,
    object: 'response',
    created_at,
    completed_at: status === 'completed' ? created_at : null,
    status,
    background: false,
    error: null,
    incomplete_details: null,
    model: body.model ?? '',
    output: [],
    usage: null,
  }
}
