import { GatewayError } from '../../core/errors.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { derivedId } from '../../kernel/own-ids.js'

/** One element of a conversation: a message, a call, a result, reasoning, …, as its `type` says. */
export type Item = JsonObject

/**
 * The items of a request's `input`: a text becomes one message of the user, and messages without a type or with a text as
 * content get the typed form. Other items are unchanged. Throws `invalid_parameter`.
 */
export function itemsOf(input: Json | undefined, param = 'input'): readonly Item[] {
  if (input === undefined || input === null) return []
  if (typeof input === 'string') return [message('user', input)]
  if (!Array.isArray(input)) throw notItems(param)
  return input.map((item: Json, index) => {
    if (!isObject(item)) throw notItems(`${param}[${index}]`)
    return typed(item)
  })
}

/** The items with ids: their own, or ones derived from their places in the request. */
export function withIds(items: readonly Item[], response: string): readonly Item[] {
  return items.map((item, index) => {
    if (typeof item.id === 'string') return item
    return { id: derivedId(typeOf(item), response, index), ...item }
  })
}

export function typeOf(item: Item): string {
  return typeof item.type === 'string' ? item.type : ''
}

function typed(item: JsonObject): Item {
  if (item.type !== undefined && item.type !== 'message') return item
  if (typeof item.role !== 'string') return item
  if (typeof item.content === 'string') return { ...item, ...message(item.role, item.content) }
  return item.type === 'message' ? item : { type: 'message', ...item }
}

function message(role: string, text: string): Item {
  const part = role === 'assistant' ? { type: 'output_text', text, annotations: [] } : { type: 'input_text', text }
  return { type: 'message', status: 'completed', role, content: [part] }
}

function notItems(param: string): GatewayError {
  return new GatewayError('invalid_parameter', `'${param}' must be a string, or a list of items.`, {
    param,
    familyCode: 'invalid_type',
  })
}
