import type { RequestHead } from '../../core/codec.js'
import { jsonText } from '../../core/exact-json.js'
import type { FieldMapping } from '../../core/fields.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { RankedDocument, RerankField, RerankRequest } from '../../core/rerank.js'
import type { Left } from '../../core/text.js'
import { given } from '../members.js'
import { invalid, Reader } from '../read.js'
import { RERANK_REQUEST, RERANK_V2_REQUEST } from './fields.js'

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
