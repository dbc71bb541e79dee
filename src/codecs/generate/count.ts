import type { CountCodec } from '../../core/codec.js'
import { isObject, type JsonObject } from '../../core/json.js'
import { readerOf } from '../native-casing.js'
import { decodeError } from '../native-errors.js'
import { tokensIn } from '../read.js'
import { decodeRequest } from './request-in.js'
import { encodeRequest } from './request-out.js'

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
