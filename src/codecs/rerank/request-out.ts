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
    // Some servers send them by default; the gateway has them anyway.
    return_documents: false,
    ...lengthOf(request, target),
    truncation: request.truncation,
  })
}

/** How much of each document counts, for servers that know such a member. */
function lengthOf({ documentTokens }: RerankRequest, target: Target<RerankField>): JsonObject {
  if (documentTokens === undefined) return {}
  const name = LENGTHS.find(one => target.traits.rerank?.includes(one) === true)
  if (name !== undefined) return { [name]: documentTokens }
  target.lose('documentTokens')
  return {}
}

const LENGTHS = ['max_tokens_per_doc', 'max_doc_length'] as const

/** A canonical request for `POST …/v2/rerank`, and for servers that rank texts alone. */
export function encodeV2(request: RerankRequest, target: Target<RerankField>): JsonObject {
  const knows = (name: 'truncation' | 'priority'): boolean => target.traits.rerank?.includes(name) === true
  if (request.truncation !== undefined && !knows('truncation')) target.lose('truncation')
  if (request.priority !== undefined && !knows('priority')) target.lose('priority')
  return compact({
    model: target.model,
    query: request.query,
    documents: request.documents.map(({ text }, i) => {
      if (text === undefined) target.lose('imageDocuments', `documents[${i}]`)
      return text ?? ''
    }),
    top_n: request.top,
    ...lengthOf(request, target),
    truncation: knows('truncation') ? request.truncation : undefined,
    priority: knows('priority') ? request.priority : undefined,
  })
}
