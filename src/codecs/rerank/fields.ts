import type { Carry, FieldMapping } from '../../core/fields.js'
import type { RerankField } from '../../core/rerank.js'

const DOCUMENTS: readonly RerankField[] = ['documents', 'imageDocuments']

/** Members of a request of `POST /v1/rerank`, whichever server's dialect it is. */
export const RERANK_REQUEST: Readonly<Record<string, FieldMapping<RerankField>>> = {
  model: { here: 'chooses the model' },
  query: 'query',
  documents: DOCUMENTS,
  'documents[].text': 'documents',
  'documents[].image': 'imageDocuments',
  rank_fields: { here: 'these members form the text of a document' },
  top_n: 'top',
  return_documents: 'returnDocuments',
  max_tokens_per_doc: 'documentTokens',
  max_doc_length: 'documentTokens',
  truncation: 'truncation',
  max_chunks_per_doc: { left: 'documents are cut by tokens, not into chunks' },
  overlap_tokens: { left: 'documents are cut by tokens, not into chunks' },
  return_embeddings: { left: 'only scores are returned' },
}

/** Members of a request of `POST /v2/rerank`. */
export const RERANK_V2_REQUEST: Readonly<Record<string, FieldMapping<RerankField>>> = {
  model: { here: 'chooses the model' },
  query: 'query',
  documents: 'documents',
  top_n: 'top',
  max_tokens_per_doc: 'documentTokens',
  priority: 'priority',
}

const ABSENT: Carry = { dropped: 'the protocol has no such member' }
const UNKNOWN: Carry = { dropped: 'only some upstreams have it; traits say which' }

export const RERANK_CARRIES: Readonly<Record<RerankField, Carry>> = {
  query: 'carried',
  documents: 'carried',
  imageDocuments: 'carried',
  top: 'carried',
  returnDocuments: 'carried',
  documentTokens: UNKNOWN,
  truncation: 'carried',
  priority: ABSENT,
}

export const RERANK_V2_CARRIES: Readonly<Record<RerankField, Carry>> = {
  ...RERANK_CARRIES,
  imageDocuments: { refused: 'the protocol ranks only texts' },
  truncation: ABSENT,
  priority: UNKNOWN,
}
