import type { Target } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { RerankField, RerankRequest } from '../../core/rerank.js'
import { compact } from '../read.js'

/** A canonical request for `POST …/v1/rerank`. */
export function encodeRequest(request: RerankRequest, target: Target<RerankField>): JsonObject {
  if (request.priority !== undefined) target.lose('priority')
  return compact({
    model: target.model,
    query: request.query,
    documents: request.documents.map(({ text, image }) => text ?? compact({ image })),
    top_n: request.top,
    // Some servers send them unless they are told not to; the gateway has them anyway.
    return_documents: false,
    max_tokens_per_doc: request.documentTokens,
    truncation: request.truncation,
  })
}

/** A canonical request for `POST …/v2/rerank`, and for servers that rank texts alone. */
export function encodeV2(request: RerankRequest, target: Target<RerankField>): JsonObject {
  if (request.truncation !== undefined) target.lose('truncation')
  return compact({
    model: target.model,
    query: request.query,
    documents: request.documents.map(({ text }, i) => {
      if (text === undefined) target.lose('imageDocuments', `documents[${i}]`)
      return text ?? ''
    }),
    top_n: request.top,
    max_tokens_per_doc: request.documentTokens,
    priority: request.priority,
  })
}
