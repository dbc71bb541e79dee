import type { TextCodec } from '../../core/codec.js'
import { isFetched } from '../fetched.js'
import { decodeError } from '../native-errors.js'
import { GENERATE_CARRIES, GENERATE_FIELDS } from './fields.js'
import { decodeRequest } from './request-in.js'
import { encodeRequest } from './request-out.js'
import { decodeResult } from './result-in.js'
import { encodeResult } from './result-out.js'
import { PROTOCOL } from './seals.js'
import { StreamIn } from './stream-in.js'
import { StreamOut } from './stream-out.js'

export { generateCount } from './count.js'

/**
 * The native protocol: `generateContent` and `streamGenerateContent`. Requests take every field name in camelCase or
 * snake_case; answers are in camelCase. Signatures come back from clients on the parts that carried them.
 */
export const generate: TextCodec = {
  operation: 'text',
  protocol: PROTOCOL,
  server: {
    decodeRequest,
    encodeResult,
    encodeStream: answer => new StreamOut(answer),
    answerBody: () => ({}),
    fields: GENERATE_FIELDS,
    returnsSeals: true,
  },
  client: {
    encodeRequest,
    decodeResult,
    decodeStream: () => new StreamIn(),
    decodeError,
    carries: GENERATE_CARRIES,
    jsonStreams: true,
    takesUrl: (part, traits) => isFetched(part, traits, false),
  },
}
