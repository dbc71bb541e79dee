import { describe, type Fields } from '../../families/fields.js'
import { emptyArray, missing, tooLong, wrongType, wrongValue } from '../../families/refusals.js'
import type { Json } from '../../json.js'
import { isObject } from '../../json.js'
import { countTokens, tokenize } from '../../text/tokens.js'
import { modelOf } from '../model.js'
import { relevance } from './bm25.js'

const MAX_DOCUMENTS = 10_000
const DEFAULT_DOCUMENT_TOKENS = 4096

/** What both protocols of reranking have in common, and the answer to it. */
export interface Ranking {
  readonly model: string
  readonly documents: readonly Json[]
  /** Best first; documents that are alike stay in their order. */
  readonly ranks: readonly { readonly index: number; readonly relevance_score: number }[]
  /** Tokens: the query is read once with each document. */
  readonly tokens: number
}

/** Reads a request and ranks its documents; `textOf` refuses what is no document of the protocol. */
export function rank(body: Fields, textOf: (document: Json, param: string) => string): Ranking {
  const model = modelOf(body)
  const query = body.need('query', body.string)
  if (query === '') throw wrongValue('query', "'query' cannot be an empty string.")
  const documents = readDocuments(body)
  const top = body.integer('top_n', { min: 1 }) ?? documents.length
  const most = body.integer('max_tokens_per_doc', { min: 1 }) ?? DEFAULT_DOCUMENT_TOKENS
  const texts = documents.map((document, index) => cut(textOf(document, `documents[${index}]`), most))
  const ranks = relevance(query, texts)
    .map((score, index) => ({ index, relevance_score: score }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, top)
  const tokens = texts.reduce((sum, text) => sum + countTokens(text), countTokens(query) * texts.length)
  return { model, documents, ranks, tokens }
}

function readDocuments(body: Fields): readonly Json[] {
  const documents = body.array('documents')
  if (documents === undefined) throw missing('documents')
  if (documents.length === 0) throw emptyArray('documents')
  if (documents.length > MAX_DOCUMENTS) throw tooLong('documents', MAX_DOCUMENTS, documents.length)
  return documents
}

/** No text has more tokens than characters, so most need not be taken apart. */
function cut(text: string, most: number): string {
  return text.length <= most ? text : tokenize(text).slice(0, most).join('')
}

/** The text of a document that is one, or an object: of its `text`, or of the members that the request names. */
export function textOfEither(document: Json, param: string, fields: readonly string[]): string {
  if (typeof document === 'string') return document
  if (!isObject(document)) throw wrongType(param, 'a string or an object', describe(document))
  const texts = fields.map(field => document[field]).filter(value => typeof value === 'string')
  // An image has no words.
  if (texts.length === 0 && typeof document.image !== 'string') throw missing(`${param}.${fields[0] ?? 'text'}`)
  return texts.join('\n')
}
