import type { RerankCodec } from '../../core/codec.js'
import { decodeError } from '../compatible-errors.js'
import { RERANK_CARRIES, RERANK_REQUEST, RERANK_V2_CARRIES, RERANK_V2_REQUEST } from './fields.js'
import { decodeRequest, decodeV2 } from './request-in.js'
import { encodeRequest, encodeV2 } from './request-out.js'
import { decodeResult, encodeResult, encodeV2Result } from './result.js'

/** Reranking of texts, objects and images: `POST …/v1/rerank`, as most servers have it. */
export const rerank: RerankCodec = {
  operation: 'rerank',
  protocol: 'rerank',
  server: { decodeRequest, encodeResult, fields: RERANK_REQUEST },
  client: { encodeRequest, decodeResult, decodeError, carries: RERANK_CARRIES },
}

/** Reranking of texts alone: `POST …/v2/rerank`. */
export const rerankV2: RerankCodec = {
  operation: 'rerank',
  protocol: 'rerank.v2',
  server: { decodeRequest: decodeV2, encodeResult: encodeV2Result, fields: RERANK_V2_REQUEST },
  client: { encodeRequest: encodeV2, decodeResult, decodeError, carries: RERANK_V2_CARRIES },
}
