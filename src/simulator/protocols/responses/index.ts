import { compatibleErrors } from '../../families/compatible.js'
import { EVENT_STREAM, json, type Protocol } from '../../protocol.js'
import { readResponses } from './request.js'
import { respond } from './response.js'
import { ResponseStream } from './stream.js'

/** `POST /v1/responses`, whole or as a stream of typed events. */
export const responses: Protocol = {
  method: 'POST',
  path: '/v1/responses',
  body: 'json',
  errors: compatibleErrors,
  models: ['sim-text'],
  answer: call => {
    const request = readResponses(call)
    const response = respond(request, call)
    if (!request.stream) return json(response.object('ended'))
    const stream = new ResponseStream(response)
    return {
      kind: 'events',
      headers: EVENT_STREAM,
      events: stream.events(),
      failure: error => stream.failure(error),
    }
  },
}
