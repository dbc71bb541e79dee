import type { TextCodec } from '../../core/codec.js'
import { CONVERSE_CARRIES, CONVERSE_FIELDS } from './fields.js'
import { PROTOCOL } from './media-in.js'
import { decodeRequest } from './request-in.js'
import { encodeRequest } from './request-out.js'
import { decodeError, decodeResult } from './result-in.js'
import { encodeResult } from './result-out.js'
import { ConverseDecoder } from './stream-in.js'
import { ConverseEncoder } from './stream-out.js'

/** Conversations with models of several vendors: `POST /model/{id}/converse`, and `…/converse-stream`. */
export const converse: TextCodec = {
  operation: 'text',
  protocol: PROTOCOL,
  server: {
    decodeRequest,
    encodeResult,
    encodeStream: answer => new ConverseEncoder(answer),
    answerBody: () => ({}),
    fields: CONVERSE_FIELDS,
    returnsSeals: true,
  },
  client: {
    encodeRequest,
    decodeResult,
    decodeStream: () => new ConverseDecoder(),
    decodeError,
    carries: CONVERSE_CARRIES,
    takesUrl: () => false,
  },
}
