import type { CountCodec, TextCodec } from '../../core/codec.js'
import { decodeError } from '../compatible-errors.js'
import { isFetched } from '../media.js'
import { tokensIn } from '../read.js'
import { PROTOCOL, RESPONSES_CARRIES, RESPONSES_FIELDS } from './fields.js'

import { decodeRequest } from './request-in.js'
import { encodeCount, encodeRequest } from './request-out.js'
import { encodeResult } from './response-object.js'
import { decodeResult } from './result-in.js'
import { ResponsesStreamDecoder } from './stream-in.js'
import { ResponsesStreamEncoder } from './stream-out.js'

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

/** The stateful responses protocol: `POST …/responses`. What it keeps is the kernel's business, not the codec's. */
export const responses: TextCodec = {
  operation: 'text',
  protocol: PROTOCOL,
  server: {
    decodeRequest,
    encodeResult,
    encodeStream: answer => new ResponsesStreamEncoder(answer),
    fields: RESPONSES_FIELDS,
    // Some know reasoning items alone, and send calls without members that they do not know.
    returnsSeals: false,
  },
  client: {
    encodeRequest,
    decodeResult,
    decodeStream: () => new ResponsesStreamDecoder(),
    decodeError,
    carries: RESPONSES_CARRIES,
    takesUrl: (part, traits) => (part.kind === 'image' || part.kind === 'document') && isFetched(part, traits, true),
  },
}
