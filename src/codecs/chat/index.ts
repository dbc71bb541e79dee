import type { TextCodec } from '../../core/codec.js'
import { decodeError } from '../compatible-errors.js'
import { isFetched } from '../media.js'
import { CHAT_CARRIES, CHAT_FIELDS } from './fields.js'
import { PROTOCOL } from './reasoning.js'
import { decodeRequest } from './request-in.js'
import { encodeRequest } from './request-out.js'
import { decodeResult } from './result-in.js'
import { encodeResult, isLegacy } from './result-out.js'
import { ChatStreamDecoder } from './stream-in.js'
import { ChatStreamEncoder } from './stream-out.js'

/** Compatible chat completions: `POST …/chat/completions`. */
export const chat: TextCodec = {
  operation: 'text',
  protocol: PROTOCOL,
  server: {
    decodeRequest,
    encodeResult,
    encodeStream: answer => new ChatStreamEncoder(answer),
    // Only in which form the client wants calls.
    answerBody: body => (isLegacy({ body }) ? { functions: [] } : {}),
    fields: CHAT_FIELDS,
    // Clients may send `reasoning_details` and `extra_content` back, but few do.
    returnsSeals: false,
  },
  client: {
    encodeRequest,
    decodeResult,
    decodeStream: () => new ChatStreamDecoder(),
    decodeError,
    carries: CHAT_CARRIES,
    takesUrl: (part, traits) => part.kind === 'image' && isFetched(part, traits, true),
  },
}
