import type { CountCodec } from '../../core/codec.js'
import { tokensIn } from '../read.js'
import { decodeError } from './errors.js'
import { decodeRequest } from './request-in.js'
import { encodeCount } from './request-out.js'

/** `POST …/count_tokens`: a request without what governs the answer, and `{input_tokens}`. */
export const messagesCount: CountCodec = {
  operation: 'count',
  protocol: 'messages.count_tokens',
  server: {
    decodeRequest,
    encodeResult: tokens => ({ input_tokens: tokens }),
  },
  client: {
    encodeRequest: encodeCount,
    decodeResult: body => tokensIn(body, 'input_tokens'),
    decodeError,
  },
}
