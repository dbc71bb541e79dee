import { compatible } from '../../families/compatible.js'
import { EVENT_STREAM, json, type Protocol } from '../../protocol.js'
import { promptTokens } from '../../text/usage.js'
import { compact } from './compact.js'
import { readResponses } from './request.js'
import { respond } from './response.js'
import { cancelResponse, deleteResponse, inputItems, retrieveResponse } from './stored.js'
import { ResponseStream } from './stream.js'

/** `POST /v1/responses`, whole or as a stream of typed events. */
const responses: Protocol = {
  method: 'POST',
  path: '/v1/responses',
  body: 'json',
  family: compatible,
  models: ['sim-text', 'sim-responses'],
  answer: call => {
    const request = readResponses(call)
    const response = respond(request, call)
    if (!request.stream) return json(response.object('ended'))
    const stream = new ResponseStream(response)
    return {
      kind: 'events',
      headers: EVENT_STREAM,
      events: stream.events(),
      failure: error => stream.failure(error, call.requestId),
    }
  },
}

/** `POST /v1/responses/input_tokens`. */
const inputTokens: Protocol = {
  method: 'POST',
  path: '/v1/responses/input_tokens',
  body: 'json',
  family: compatible,
  models: [],
  answer: call => {
    const { input } = promptTokens(readResponses(call).text)
    return json({ object: 'response.input_tokens', input_tokens: input })
  },
}

/** Paths that say more stand before those that a parameter lets fit as well. */
export const RESPONSES: readonly Protocol[] = [
  responses,
  inputTokens,
  compact,
  inputItems,
  cancelResponse,
  retrieveResponse,
  deleteResponse,
]
