import type { ImageCodec } from '../../core/codec.js'
import { decodeError } from '../native-errors.js'
import { PREDICT_CARRIES, PREDICT_FIELDS } from './fields.js'
import { decodeRequest } from './request-in.js'
import { encodeRequest } from './request-out.js'
import { decodeResult, encodeResult } from './result.js'

/** Native models that do nothing but make images: `POST …/models/{model}:predict`. */
export const predict: ImageCodec = {
  operation: 'image',
  protocol: 'predict',
  server: { decodeRequest, encodeResult, fields: PREDICT_FIELDS },
  client: { encodeRequest, decodeResult, decodeError, carries: PREDICT_CARRIES },
}
