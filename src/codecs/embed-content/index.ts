import type { EmbedCodec, Traits } from '../../core/codec.js'
import type { MediaPart } from '../../core/text.js'
import { isFetched } from '../fetched.js'
import { decodeError } from '../native-errors.js'
import { BATCH_FIELDS, NATIVE_CARRIES, SINGLE_FIELDS } from './fields.js'
import { decodeBatch, decodeSingle } from './request-in.js'
import { encodeBatch, encodeSingle } from './request-out.js'
import { decodeBatchResult, decodeSingleResult, encodeBatchResult, encodeSingleResult } from './result.js'

/** Native embeddings, one at a time: `POST …/models/{model}:embedContent`. */
export const embedContent: EmbedCodec = {
  operation: 'embed',
  protocol: 'embed-content',
  server: { decodeRequest: decodeSingle, encodeResult: encodeSingleResult, fields: SINGLE_FIELDS },
  client: {
    encodeRequest: encodeSingle,
    decodeResult: decodeSingleResult,
    decodeError,
    carries: NATIVE_CARRIES,
    takesUrl,
  },
}

/** Native embeddings, several at once: `POST …/models/{model}:batchEmbedContents`. */
export const embedContents: EmbedCodec = {
  operation: 'embed',
  protocol: 'embed-contents',
  server: { decodeRequest: decodeBatch, encodeResult: encodeBatchResult, fields: BATCH_FIELDS },
  client: {
    encodeRequest: encodeBatch,
    decodeResult: decodeBatchResult,
    decodeError,
    carries: NATIVE_CARRIES,
    takesUrl,
  },
}

/** It embeds bytes, and files of its own. */
function takesUrl(part: MediaPart, traits: Traits): boolean {
  return isFetched(part, traits, false)
}
