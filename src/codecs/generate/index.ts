import type { CountCodec, TextCodec } from '../../core/codec.js'
import { isObject, type JsonObject } from '../../core/json.js'
import { isFetched } from '../media.js'
import { readerOf } from '../native-casing.js'
import { decodeError } from '../native-errors.js'
import { tokensIn } from '../read.js'
import { PROTOCOL } from './calls.js'
import { GENERATE_CARRIES, GENERATE_FIELDS } from './fields.js'
import { decodeRequest } from './request-in.js'
import { encodeRequest } from './request-out.js'
import { encodeResult } from './result-out.js'
import { decodeResult, StreamIn } from './stream-in.js'

import { StreamOut } from './stream-out.js'

/**
 * `countTokens`: turns alone (`contents`), or a whole request of `generateContent` as `generateContentRequest`; the
 * answer is `totalTokens`.
 */
export const generateCount: CountCodec = {
  operation: 'count',
  protocol: 'generate.count_tokens',
  server: {
    decodeRequest(body, head) {
      const whole = readerOf(body, '').raw('generateContentRequest')
      return decodeRequest(isObject(whole) ? whole : body, head)
    },
    encodeResult: tokens => ({ totalTokens: tokens }),
  },
  client: {
    encodeRequest(request, target): JsonObject {
      const body = encodeRequest(request, target)
      const isTurnsAlone = Object.keys(body).every(name => name === 'contents')
      return isTurnsAlone
        ? body
        : {
            generateContentRequest: {
              model: target.model.includes('/') ? target.model : `models/${target.model}`,
              ...body,
            },
          }
    },
    decodeResult: body => tokensIn(body, 'totalTokens'),
    decodeError,
  },
}

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
