import type { RequestHead, Target } from '../../core/codec.js'
import { jsonText } from '../../core/exact-json.js'
import type { Carry, FieldMapping } from '../../core/fields.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { RankedDocument, RerankField, RerankRequest } from '../../core/rerank.js'
import type { Left } from '../../core/text.js'
import { compact, given, invalid, Reader } from '../read.js'

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

/** A request of `POST /v1/rerank` in canonical form: documents are texts, or objects with a text or an image. */
export function decodeRequest(value: JsonObject, head: RequestHead): RerankRequest {
  const body = new Reader(value)
  const fields = body.strings('rank_fields')
  return {
    ...decodeCommon(body, head, RERANK_REQUEST),
    documents: readDocuments(body, (one, at) => readDocument(one, at, fields)),
    returnDocuments: body.boolean('return_documents') ?? false,
    ...given({
      documentTokens: body.number('max_tokens_per_doc') ?? body.number('max_doc_length'),
      truncation: body.boolean('truncation'),
    }),
  }
}

/** A request of `POST /v2/rerank` in canonical form: documents are texts. */
export function decodeV2(value: JsonObject, head: RequestHead): RerankRequest {
  const body = new Reader(value)
  return {
    ...decodeCommon(body, head, RERANK_V2_REQUEST),
    documents: readDocuments(body, (one, at) => {
      if (typeof one === 'string') return { text: one }
      throw invalid(at, 'expected a string')
    }),
    returnDocuments: false,
    ...given({ documentTokens: body.number('max_tokens_per_doc'), priority: body.number('priority') }),
  }
}

function decodeCommon(
  body: Reader,
  head: RequestHead,
  fields: Readonly<Record<string, FieldMapping<RerankField>>>,
): Pick<RerankRequest, 'model' | 'query' | 'top' | 'left'> {
  const top = body.number('top_n')
  if (top !== undefined && !(Number.isInteger(top) && top >= 1)) throw invalid('top_n', 'expected an integer from 1 on')
  return { model: head.model, query: body.required('query'), left: leftOf(body, fields), ...given({ top }) }
}

function leftOf(body: Reader, fields: Readonly<Record<string, FieldMapping<RerankField>>>): readonly Left[] {
  const left: Left[] = []
  for (const field of Object.keys(body.value)) {
    if (!body.has(field)) continue
    const held = Object.hasOwn(fields, field) ? fields[field] : { left: 'the protocol has no such member' }
    // What is switched off is not missed.
    if (typeof held === 'object' && 'left' in held && body.raw(field) !== false) left.push({ field, why: held.left })
  }
  return left
}

function readDocuments(body: Reader, read: (one: Json, at: string) => RankedDocument): readonly RankedDocument[] {
  const documents = body.array('documents')
  if (documents === undefined) throw invalid('documents', 'it is required')
  if (documents.length === 0) throw invalid('documents', 'expected at least one document')
  return documents.map((one, i) => read(one, `documents[${i}]`))
}

function readDocument(one: Json, at: string, fields: readonly string[] | undefined): RankedDocument {
  if (typeof one === 'string') return { text: one }
  if (!isObject(one)) throw invalid(at, 'expected a string or an object')
  if (fields !== undefined) return { text: textOf(one, fields), own: one }
  const document = new Reader(one, at)
  const text = document.string('text')
  if (text !== undefined) return { text, own: one }
  const image = document.string('image')
  if (image !== undefined) return { text: undefined, image, own: one }
  throw invalid(at, "expected 'text' or 'image'")
}

/** Members of a document as one text, a line each, as servers of texts alone want it. */
function textOf(document: JsonObject, fields: readonly string[]): string {
  return fields
    .filter(field => Object.hasOwn(document, field))
    .map(field => {
      const value = document[field]
      return `${field}: ${typeof value === 'string' ? value : jsonText(value)}`
    })
    .join('\n')
}

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
