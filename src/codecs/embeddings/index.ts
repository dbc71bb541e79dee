import type { EmbedCodec } from '../../core/codec.js'
import { decodeError } from '../compatible-errors.js'
import { isFetched } from '../fetched.js'
import { EMBEDDINGS_CARRIES, EMBEDDINGS_FIELDS } from './fields.js'
import { decodeRequest } from './request-in.js'
import { encodeRequest } from './request-out.js'
import { decodeResult, encodeResult } from './result.js'

/** Compatible embeddings: `POST …/embeddings`. */
export const embeddings: EmbedCodec = {
  operation: 'embed',
  protocol: 'embeddings',
  server: { decodeRequest, encodeResult, fields: EMBEDDINGS_FIELDS },
  client: {
    encodeRequest,
    decodeResult,
    decodeError,
    carries: EMBEDDINGS_CARRIES,
    takesUrl: (part, traits) => isFetched(part, traits, true),
  },
}
