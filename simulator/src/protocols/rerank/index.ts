import type { Family } from '../../errors.js'
import { compatible } from '../../families/compatible.js'
import { describe, Fields } from '../../families/fields.js'
import { modelOf } from '../../families/options.js'
import { emptyArray, missing, tooLong, wrongType, wrongValue } from '../../families/refusals.js'
import { isObject, type Json } from '../../json.js'
import { endpoint, json, type Protocol } from '../../protocol.js'
import { countTokens, tokenize } from '../../text/tokens.js'
import { spoiled } from '../../text/usage.js'

/** The family of the second version of reranking: `{ id, message }`, in the words of the compatible one. */
const rerankErrors: Family = {
  body: ({ message }, requestId) => ({ id: requestId, message }),
  usual: compatible.usual,
  headers: requestId => ({ 'x-request-id': requestId }),
}

const MODELS = ['sim-rerank']
/** One search is a query with so many documents. */
const DOCUMENTS_PER_SEARCH = 100

/** `POST /v1/rerank`: documents are texts or objects, and are in the results on request. */
const first = endpoint(
  compatible,
  'POST /v1/rerank',
  { body: 'json', models: MODELS },
  ({ body: object, seed, faults }) => {
    const body = new Fields(object)
    const fields = body.raw('rank_fields') === undefined ? ['text'] : body.strings('rank_fields')
    const { model, documents, ranks, tokens } = rank(body, (document, param) => textOfEither(document, param, fields))
    const isTold = body.boolean('return_documents') ?? false
    const results = ranks.map(one => {
      if (!isTold) return one
      const document = documents[one.index]
      return { ...one, document: isObject(document) ? document : { text: document } }
    })
    const usage = spoiled({ prompt_tokens: tokens, total_tokens: tokens }, faults)
    return json({ id: `rerank-${seed.fork('id').hex(32)}`, object: 'list', model, results, usage })
  },
)

/** `POST /v2/rerank`: documents are texts. */
const second = endpoint(
  rerankErrors,
  'POST /v2/rerank',
  { body: 'json', models: MODELS },
  ({ body: object, seed, faults }) => {
    const { documents, ranks, tokens } = rank(new Fields(object), (document, param) => {
      if (typeof document === 'string') return document
      throw wrongType(param, 'a string', describe(document))
    })
    const meta = spoiled(
      {
        billed_units: { search_units: Math.ceil(documents.length / DOCUMENTS_PER_SEARCH) },
        tokens: { input_tokens: tokens },
      },
      faults,
    )
    const id = seed.fork('id').hex(32).replace(UUID, '$1-$2-$3-$4-$5')
    return json({ id, results: ranks, meta: { api_version: { version: '2' }, ...meta } })
  },
)

const UUID = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/

export const RERANK: readonly Protocol[] = [first, second]

const MAX_DOCUMENTS = 10_000
const DEFAULT_DOCUMENT_TOKENS = 4096

/** What both protocols of reranking have in common, and the answer to it. */
interface Ranking {
  readonly model: string
  readonly documents: readonly Json[]
  /** Best first; documents that are alike stay in their order. */
  readonly ranks: readonly { readonly index: number; readonly relevance_score: number }[]
  /** Tokens: the query is read once with each document. */
  readonly tokens: number
}

/** Reads a request and ranks its documents; `textOf` refuses what is not a document of the protocol. */
function rank(body: Fields, textOf: (document: Json, param: string) => string): Ranking {
  const model = modelOf(body)
  const query = body.need('query', body.string)
  if (query === '') throw wrongValue('query', "'query' cannot be an empty string.")
  const documents = readDocuments(body)
  const top = body.integer('top_n', { min: 1 }) ?? documents.length
  const most = body.integer('max_tokens_per_doc', { min: 1 }) ?? DEFAULT_DOCUMENT_TOKENS
  // Nothing waits here, so it changes nothing.
  body.integer('priority', { min: 0 })
  const texts = documents.map((document, index) => cut(textOf(document, `documents[${index}]`), most))
  const ranks = relevance(query, texts)
    .map((score, index) => ({ index, relevance_score: score }))
    .sort((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, top)
  const tokens = texts.reduce((sum, text) => sum + countTokens(text), countTokens(query) * texts.length)
  return { model, documents, ranks, tokens }
}

function readDocuments(body: Fields): readonly Json[] {
  const documents = body.need('documents', body.array)
  if (documents.length === 0) throw emptyArray('documents')
  if (documents.length > MAX_DOCUMENTS) throw tooLong('documents', MAX_DOCUMENTS, documents.length)
  return documents
}

/** No text has more tokens than characters, so most need not be taken apart. */
function cut(text: string, most: number): string {
  return text.length <= most ? text : tokenize(text).slice(0, most).join('')
}

/** The text of a document that is one, or an object: of its `text`, or of the members that the request names. */
function textOfEither(document: Json, param: string, fields: readonly string[]): string {
  if (typeof document === 'string') return document
  if (!isObject(document)) throw wrongType(param, 'a string or an object', describe(document))
  const texts = fields.map(field => document[field]).filter(value => typeof value === 'string')
  // An image has no words.
  if (texts.length === 0 && typeof document.image !== 'string') throw missing(`${param}.${fields[0] ?? 'text'}`)
  return texts.join('\n')
}

/**
 * Okapi BM25 (Robertson and Zaragoza, 2009) with its usual constants, and with the inverse document frequency that is
 * never negative: ln(1 + (N − n + ½) / (n + ½)).
 */
const SATURATION = 1.2
const LENGTH_WEIGHT = 0.75

const WORDS = /[\p{L}\p{N}]+/gu

/**
 * The relevance of each document to the query, from 0 (no word in common) to 1 (out of reach): its BM25 as a share of
 * what the query could gain at most. Words are compared without case; each word of the query counts once.
 * @testonly
 */
export function relevance(query: string, documents: readonly string[]): readonly number[] {
  const terms = new Set(wordsOf(query))
  const counted = documents.map(document => count(document, terms))
  const average = counted.reduce((sum, { length }) => sum + length, 0) / documents.length
  const weights = new Map([...terms].map(term => [term, rarity(term, counted)]))
  const most = [...weights.values()].reduce((sum, weight) => sum + weight * (SATURATION + 1), 0)
  return counted.map(one => (most === 0 ? 0 : score(one, weights, average) / most))
}

interface Counted {
  /** In words. */
  readonly length: number
  /** How often each word of the query occurs. */
  readonly times: ReadonlyMap<string, number>
}

function count(document: string, terms: ReadonlySet<string>): Counted {
  const times = new Map<string, number>()
  let length = 0
  for (const word of wordsOf(document)) {
    length += 1
    if (terms.has(word)) times.set(word, (times.get(word) ?? 0) + 1)
  }
  return { length, times }
}

function rarity(term: string, documents: readonly Counted[]): number {
  const having = documents.reduce((sum, { times }) => sum + (times.has(term) ? 1 : 0), 0)
  return Math.log(1 + (documents.length - having + 0.5) / (having + 0.5))
}

function score({ times, length }: Counted, weights: ReadonlyMap<string, number>, average: number): number {
  let sum = 0
  for (const [term, often] of times) {
    const norm = SATURATION * (1 - LENGTH_WEIGHT + (LENGTH_WEIGHT * length) / average)
    sum += ((weights.get(term) ?? 0) * often * (SATURATION + 1)) / (often + norm)
  }
  return sum
}

function wordsOf(text: string): readonly string[] {
  return text.normalize('NFKC').toLowerCase().match(WORDS) ?? []
}
