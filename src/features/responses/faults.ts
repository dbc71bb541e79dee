import { GatewayError } from '../../core/errors.js'

/** Longest part of a client's id that an error repeats, characters. */
const MAX_SHOWN_CHARS = 256

/** The same answer for ids that never existed, that are gone, and that belong to another caller. */
export function noPrevious(id: string): GatewayError {
  return new GatewayError(
    'invalid_parameter',
    `Previous response with id '${id.slice(0, MAX_SHOWN_CHARS)}' not found.`,
    {
      param: 'previous_response_id',
      familyCode: 'previous_response_not_found',
    },
  )
}

/** A response that is still running cannot be continued, since its output is not known. */
export function unfinishedPrevious(id: string): GatewayError {
  const message = `Previous response with id '${id.slice(0, MAX_SHOWN_CHARS)}' is still running. Continue it when it has ended.`
  return new GatewayError('invalid_parameter', message, { param: 'previous_response_id' })
}

/** The upstream that keeps the previous response cannot be called. */
export function previousElsewhere(model: string): GatewayError {
  return new GatewayError(
    'invalid_parameter',
    `The previous response is kept by an upstream that does not serve the model '${model}' now. Send the whole conversation as input instead.`,
    { param: 'previous_response_id', familyCode: 'previous_response_not_found' },
  )
}

/** The upstream that keeps the referenced item cannot be called. */
export function itemElsewhere(model: string): GatewayError {
  return new GatewayError(
    'invalid_parameter',
    `An item that the input refers to is kept by an upstream that does not serve the model '${model}' now. Send the item itself instead.`,
    { param: 'input' },
  )
}

/** A conversation is over a bound. */
export function tooLong(what: string, limit: string): GatewayError {
  return new GatewayError(
    'invalid_parameter',
    `The conversation that previous_response_id continues ${what}. Start a new one with the relevant parts as input.`,
    { param: 'previous_response_id', limit },
  )
}

export function tooManyItems(most: number): GatewayError {
  const message = `A stored response can have at most ${most} items, including those of its conversation.`
  return new GatewayError('invalid_parameter', message, { param: 'input', limit: 'conversation_items' })
}

export function noResponse(id: string): GatewayError {
  return new GatewayError('not_found', `Response with id '${id.slice(0, MAX_SHOWN_CHARS)}' not found.`)
}

export function noItem(id: string): GatewayError {
  return new GatewayError('not_found', `Item with id '${id.slice(0, MAX_SHOWN_CHARS)}' not found.`, { param: 'input' })
}

/** Those that are too many to be looked up. */
export function tooManyOutside(most: number): GatewayError {
  const message = `The input refers to more than ${most} items that were not made here. Send further ones themselves.`
  return new GatewayError('invalid_parameter', message, { param: 'input' })
}

/** The same answer for ids that never existed, that are gone, and that belong to another caller. */
export function noCompletion(id: string): GatewayError {
  return new GatewayError('not_found', `Chat completion with id '${id.slice(0, MAX_SHOWN_CHARS)}' not found.`)
}

/** A completion to be stored is over a bound. */
export function tooLargeToKeep(what: string, limit: string): GatewayError {
  const message = `A stored chat completion can have at most ${what}.`
  return new GatewayError('invalid_parameter', message, { param: 'messages', limit })
}

/** The same answer for ids that never existed, that are gone, and that belong to another caller. */
export function noConversation(id: string): GatewayError {
  return new GatewayError('not_found', `Conversation with id '${id.slice(0, MAX_SHOWN_CHARS)}' not found.`)
}

export function noConversationItem(item: string, id: string): GatewayError {
  const message = `Item with id '${item.slice(0, MAX_SHOWN_CHARS)}' not found in conversation with id '${id.slice(0, MAX_SHOWN_CHARS)}'.`
  return new GatewayError('not_found', message)
}

/** A conversation with an id is over a bound. */
export function tooLongConversation(what: string, limit: string): GatewayError {
  const message = `The conversation ${what}. Delete items, or start a new one with the relevant parts.`
  return new GatewayError('invalid_parameter', message, { param: 'conversation', limit })
}
