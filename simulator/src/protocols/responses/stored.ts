import { SimulatorError } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import type { Fields } from '../../families/fields.js'
import { notListed, wrongValue } from '../../families/refusals.js'
import type { JsonObject } from '../../json.js'
import type { Kept } from '../../memory.js'
import { type Call, json, type Protocol } from '../../protocol.js'
import { isStamped } from '../../seed.js'

const MAX_PAGE_ITEMS = 100
const DEFAULT_PAGE_ITEMS = 20

/** `GET /v1/responses/{id}/input_items`: all that the response answered, latest first unless asked otherwise. */
export const inputItems: Protocol = {
  family: compatible,
  method: 'GET',
  path: '/v1/responses/{id}/input_items',
  answer: call => {
    const { input } = kept(call)
    const items = order(call.query) === 'asc' ? input : input.toReversed()
    const after = call.query.get('after')
    const from = after === null ? 0 : items.findIndex(({ id }) => id === after) + 1
    const page = items.slice(from, from + limit(call.query))
    return json({
      object: 'list',
      data: page,
      first_id: page[0]?.id ?? null,
      last_id: page.at(-1)?.id ?? null,
      has_more: from + page.length < items.length,
    })
  },
}

/** `POST /v1/responses/{id}/cancel`: only what runs in the background can be, and nothing here does. */
export const cancelResponse: Protocol = {
  family: compatible,
  method: 'POST',
  path: '/v1/responses/{id}/cancel',
  answer: call => {
    kept(call)
    throw new SimulatorError(400, 'Cannot cancel a synchronous response.')
  },
}

/** `GET /v1/responses/{id}`. */
export const retrieveResponse: Protocol = {
  family: compatible,
  method: 'GET',
  path: '/v1/responses/{id}',
  answer: call => {
    const { object } = kept(call)
    if (call.query.get('stream') !== 'true') return json(object)
    throw new SimulatorError(400, 'Only responses that run in the background can be streamed again.', {
      param: 'stream',
    })
  },
}

/** `DELETE /v1/responses/{id}`. */
export const deleteResponse: Protocol = {
  family: compatible,
  method: 'DELETE',
  path: '/v1/responses/{id}',
  answer: ({ parameter: id, memory }): ReturnType<typeof json> => {
    if (!memory.forget(id)) throw notFound(id)
    return json({ id, object: 'response.deleted', deleted: true })
  },
}

function kept({ parameter: id, memory }: Call): Kept {
  const response = memory.get(id)
  if (response === undefined) throw notFound(id)
  return response
}

function notFound(id: string): SimulatorError {
  return new SimulatorError(404, `Response with id '${id.slice(0, 100)}' not found.`)
}

function order(query: URLSearchParams): string {
  const order = query.get('order') ?? 'desc'
  if (order !== 'asc' && order !== 'desc') throw notListed('order', order, ['asc', 'desc'])
  return order
}

function limit(query: URLSearchParams): number {
  const limit = Number(query.get('limit') ?? DEFAULT_PAGE_ITEMS)
  if (Number.isInteger(limit) && limit >= 1 && limit <= MAX_PAGE_ITEMS) return limit
  throw wrongValue('limit', `Invalid 'limit': expected an integer from 1 to ${MAX_PAGE_ITEMS}.`)
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

/** The conversation that `previous_response_id` goes on with. Throws where there was none. */
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
