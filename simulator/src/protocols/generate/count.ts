import { badArgument, native } from '../../families/native.js'
import { isObject } from '../../json.js'
import { json, type Protocol } from '../../protocol.js'
import { promptTokens } from '../../text/usage.js'
import { readMessage } from './proto.js'
import { readRequest } from './request.js'
import { JSON_HEADERS } from './stream.js'
import { modalities } from './usage.js'
import { WIRE } from './wire.js'

/** `POST /v1beta/models/{model}:countTokens`: of contents alone, or of a whole request. */
export const countTokens: Protocol = {
  method: 'POST',
  path: '/v1beta/models/{model}:countTokens',
  body: 'json',
  family: native,
  models: ['sim-generate'],
  answer: call => {
    const { contents, generateContentRequest: whole } = readMessage(WIRE, 'CountTokensRequest', call.body)
    if (contents !== undefined && whole !== undefined) {
      throw badArgument('Only one of contents and generate_content_request may be set.')
    }
    const request = isObject(whole) ? whole : contents === undefined ? {} : { contents }
    const prompt = promptTokens(readRequest(request, call.parameter, call).text)
    return json({ totalTokens: prompt.input, promptTokensDetails: modalities(prompt) }, 200, JSON_HEADERS)
  },
}
