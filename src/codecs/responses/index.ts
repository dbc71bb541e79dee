import type { TextCodec } from '../../core/codec.js'
import { decodeError } from '../compatible-errors.js'
import { isFetched } from '../fetched.js'
import { RESPONSES_CARRIES, RESPONSES_FIELDS } from './fields.js'
import { PROTOCOL } from './protocol.js'
import { decodeRequest } from './request-in.js'
import { encodeRequest } from './request-out.js'
import { decodeResult } from './result-in.js'
import { encodeResult } from './result-out.js'
import { ResponsesStreamDecoder } from './stream-in.js'
import { ResponsesStreamEncoder } from './stream-out.js'

export { responsesCount } from './count.js'

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
