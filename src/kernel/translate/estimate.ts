import { estimateTokens } from '../../codecs/index.js'
import type { Codec } from '../../core/codec.js'
import type { TextRequest } from '../../core/text.js'
import type { DecodedRequest } from '../../translate/decode.js'
import type { Call } from '../call.js'

/** Answers a count of tokens that no upstream makes, and says that it is an estimate. */
export function answerEstimate(call: Call, server: Codec, { request }: DecodedRequest): void {
  if (server.operation !== 'count') throw new Error('only counts are estimated')
  const tokens = estimateTokens(request as TextRequest)
  call.answer(200, server.server.encodeResult(tokens), ['x-gateway-estimated', 'input_tokens'])
}
