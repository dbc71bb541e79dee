import type { ModerateCodec } from '../../core/codec.js'
import { GatewayError } from '../../core/errors.js'
import { decodeError } from '../compatible-errors.js'
import { decodeRequest, MODERATIONS_FIELDS } from './request.js'
import { encodeResult } from './result.js'

/**
 * Moderations: `POST …/moderations`. Upstreams that speak it are relayed to; models of texts that are said to judge are
 * asked by their own protocol.
 */
export const moderations: ModerateCodec = {
  operation: 'moderate',
  protocol: 'moderations',
  server: { decodeRequest, encodeResult, encodeStream: never, fields: MODERATIONS_FIELDS, returnsSeals: true },
  client: { encodeRequest: never, decodeResult: never, decodeError, carries: {} },
}

function never(): never {
  throw new GatewayError('internal', 'Moderations are relayed or answered by a text model, and never streamed.')
}
