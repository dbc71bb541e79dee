import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import type { Fields } from '../../families/fields.js'
import { pageOf } from '../../families/pages.js'
import type { JsonObject } from '../../json.js'
import type { Kept } from '../../memory.js'
import { type Call, endpoint, json } from '../../protocol.js'
import { isStamped } from '../../seed.js'

/** All that the response answered, latest first unless asked otherwise. */
export const inputItems = endpoint(compatible, 'GET /v1/responses/{id}/input_items', call =>
  pageOf(kept(call).input, call.query),
)

/** `POST /v1/responses/{id}/cancel`: only what runs in the background can be, and nothing here does. */
export const cancelResponse = endpoint(compatible, 'POST /v1/responses/{id}/cancel', call => {
  kept(call)
  throw new SimulatorError(400, 'Cannot cancel a synchronous response.')
})

export const retrieveResponse = endpoint(compatible, 'GET /v1/responses/{id}', call => {
  const { object } = kept(call)
  if (call.query.get('stream') !== 'true') return json(object)
  throw new SimulatorError(400, 'Only responses that run in the background can be streamed again.', {
    param: 'stream',
  })
})

export const deleteResponse = endpoint(
  compatible,
  'DELETE /v1/responses/{id}',
  ({ parameter: id, memory }): ReturnType<typeof json> => {
    if (!memory.forget(id)) throw notFound(id)
    return json({ id, object: 'response.deleted', deleted: true })
  },
)

function kept({ parameter: id, memory }: Call): Kept {
  const response = memory.get(id)
  if (response === undefined) throw notFound(id)
  return response
}

function notFound(id: string): SimulatorError {
  return new SimulatorError(404, `Response with id '${id.slice(0, 100)}' not found.`)
}

/** A response as it is kept: plain JSON. */
export function plain(value: object): JsonObject {
  return JSON.parse(JSON.stringify(value))
}

/** What went before a request. */
export interface History {
  /** The items of the earlier responses, questions and answers. */
  readonly items: readonly JsonObject[]
  /** Whether all of them are known: an id of another process is taken on trust, and nothing can be checked then. */
  readonly known: boolean
  /** Whether there was anything before. */
  readonly chained: boolean
}

const NONE: History = { items: [], known: true, chained: false }

/** The conversation that `previous_response_id` continues. Throws if there was none. */
export function readHistory(body: Fields, { memory, faults }: Call): History {
  const previous = body.string('previous_response_id')
  const conversation = body.raw('conversation')
  if (previous !== undefined && conversation !== undefined) throw exclusive()
  if (conversation !== undefined) throw new SimulatorError(404, 'Conversation not found.', { param: 'conversation' })
  if (previous === undefined) return NONE
  const kept = memory.get(previous)
  if (kept !== undefined) return { items: [...kept.input, ...kept.output], known: true, chained: true }
  const trusted = isStamped('resp_', previous) && !faults['own-ids'] && !memory.isForgotten(previous)
  if (trusted) return { items: [], known: false, chained: true }
  throw new SimulatorError(400, `Previous response with id '${previous.slice(0, 100)}' not found.`, {
    param: 'previous_response_id',
    code: 'previous_response_not_found',
  })
}

function exclusive(): SimulatorError {
  const message = "Mutually exclusive parameters: 'previous_response_id' and 'conversation'."
  return new SimulatorError(400, message, { code: 'mutually_exclusive_parameters' })
}
