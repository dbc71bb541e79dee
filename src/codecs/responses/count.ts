import type { CountCodec } from '../../core/codec.js'
import { decodeError } from '../compatible-errors.js'
import { tokensIn } from '../read.js'
import { decodeRequest } from './request-in.js'
import { encodeCount } from './request-out.js'

/** `POST …/responses/input_tokens`: what of a request is read, and `{object, input_tokens}`. */
export const responsesCount: CountCodec = {
  operation: 'count',
  protocol: 'responses.input_tokens',
  server: {
    decodeRequest,
    encodeResult: tokens => ({ object: 'response.input_tokens', input_tokens: tokens }),
  },
  client: {
    encodeRequest: encodeCount,
    decodeResult: body => tokensIn(body, 'input_tokens'),
    decodeError,
  },
}
