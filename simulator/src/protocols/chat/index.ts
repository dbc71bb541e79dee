import { compatible } from '../../families/compatible.js'
import { EVENT_STREAM, json, type Protocol } from '../../protocol.js'
import { complete } from './completion.js'
import { readChat } from './request.js'
import { result } from './result.js'
import { chunks } from './stream.js'

/** `POST /v1/chat/completions`, whole or as a stream that ends with `[DONE]`. */
export const chat: Protocol = {
  method: 'POST',
  path: '/v1/chat/completions',
  body: 'json',
  family: compatible,
  models: ['sim-text'],
  answer: call => {
    const request = readChat(call)
    const completion = complete(request, call)
    if (request.stream === undefined) return json(result(completion, request.legacy))
    return {
      kind: 'events',
      headers: EVENT_STREAM,
      events: chunks(completion, request),
      failure: error => [{ data: JSON.stringify(compatible.body(error, call.requestId)) }],
    }
  },
}
