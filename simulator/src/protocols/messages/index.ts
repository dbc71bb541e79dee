import { messageBlocks } from '../../families/messages.js'
import { EVENT_STREAM, json, type Protocol } from '../../protocol.js'
import { promptTokens } from '../../text/usage.js'
import { reply } from './message.js'
import { messageModelById, messageModels } from './models.js'
import { readCountRequest, readMessagesRequest } from './request.js'
import { event, events, whole } from './stream.js'

/** `POST /v1/messages`, whole or as a stream of typed events that ends with `message_stop`. */
const messages: Protocol = {
  method: 'POST',
  path: '/v1/messages',
  body: 'json',
  family: messageBlocks,
  models: ['sim-messages'],
  answer: call => {
    const request = readMessagesRequest(call)
    const answer = reply(request, call)
    if (!request.stream) return json(whole(answer))
    return {
      kind: 'events',
      headers: EVENT_STREAM,
      events: events(answer),
      failure: error => [event('error', messageBlocks.body(error, call.requestId))],
    }
  },
}

/** `POST /v1/messages/count_tokens`. */
const countTokens: Protocol = {
  method: 'POST',
  path: '/v1/messages/count_tokens',
  body: 'json',
  family: messageBlocks,
  models: [],
  answer: call => json({ input_tokens: promptTokens(readCountRequest(call).text).input }),
}

export const MESSAGES: readonly Protocol[] = [messages, countTokens, messageModels, messageModelById]
