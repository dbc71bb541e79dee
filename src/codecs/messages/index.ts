import type { CountCodec, TextCodec } from '../../core/codec.js'
import { isFetched } from '../media.js'
import { tokensIn } from '../read.js'
import { MESSAGES_CARRIES, MESSAGES_FIELDS } from './fields.js'
import { decodeRequest } from './request-in.js'
import { encodeCount, encodeRequest } from './request-out.js'
import { decodeError, decodeResult } from './result-in.js'

import { encodeResult } from './result-out.js'
import { MessagesDecoder } from './stream-in.js'
import { MessagesEncoder } from './stream-out.js'

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

/** Message blocks: `POST /v1/messages`. */
export const messages: TextCodec = {
  operation: 'text',
  protocol: 'messages',
  server: {
    decodeRequest,
    encodeResult,
    encodeStream: answer => new MessagesEncoder(answer),
    answerBody: () => ({}),
    fields: MESSAGES_FIELDS,
    returnsSeals: true,
  },
  client: {
    encodeRequest,
    decodeResult,
    decodeStream: () => new MessagesDecoder(),
    decodeError,
    carries: MESSAGES_CARRIES,
    // Audio and video are refused in any form, so no one has to fetch them.
    takesUrl: (part, traits) => isFetched(part, traits, true) || part.kind === 'audio' || part.kind === 'video',
  },
}
