import type { DocumentAnswer, RerankCodec } from '../../core/codec.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { Rank, RankedDocument, RerankRequest, RerankResult } from '../../core/rerank.js'
import { decodeError, errorInside } from '../compatible-errors.js'
import { badUpstream, compact, countOf, given, numberOf, objectOf, stringOf } from '../read.js'

import {
  decodeRequest,
  decodeV2,
  encodeRequest,
  encodeV2,
  RERANK_CARRIES,
  RERANK_REQUEST,
  RERANK_V2_CARRIES,
  RERANK_V2_REQUEST,
} from './request.js'

/** What ids begin with that the upstream did not give. */
const ID = 'rerank-'

/**
 * An answer in canonical form, whichever server's dialect it is: ranks in `results`; usage in `usage` (tokens) or `meta`
 * (tokens, search units). Servers that do not sort, or send more than was asked for, are put right. Throws
 * `bad_upstream_response`.
 */
function decodeResult(body: Json, request: RerankRequest): RerankResult {
  if (!isObject(body)) throw badUpstream('It is not an object.')
  if (body.error !== undefined && body.error !== null) throw errorInside(body, 'content')
  if (!Array.isArray(body.results)) throw badUpstream('It has no results.')
  const ranks = readRanks(body.results as readonly Json[], request.documents.length)
  const meta = objectOf(body.meta)
  const usage = objectOf(body.usage)
  const tokens = countOf(usage?.prompt_tokens) ?? countOf(usage?.total_tokens)
  const units = numberOf(objectOf(meta?.billed_units)?.search_units)
  return {
    model: stringOf(body.model) ?? '',
    ranks: ranks.slice(0, request.top ?? ranks.length),
    ...given({
      id: stringOf(body.id),
      input: tokens ?? countOf(objectOf(meta?.tokens)?.input_tokens),
      searchUnits: units !== undefined && units >= 0 ? units : undefined,
    }),
  }
}

/** Best first. Every one has to name another of the documents and a score. */
function readRanks(results: readonly Json[], documents: number): Rank[] {
  const seen = new Set<number>()
  const ranks = results.map(result => {
    const index = objectOf(result)?.index
    const score = numberOf(objectOf(result)?.relevance_score)
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= documents || seen.has(index)) {
      throw badUpstream('A result does not say which document it is.')
    }
    if (score === undefined) throw badUpstream('A result has no score.')
    seen.add(index)
    return { index, score }
  })
  return ranks.sort((a, b) => b.score - a.score)
}

/** A canonical answer for clients of `POST /v1/rerank`. */
function encodeResult(result: RerankResult, request: RerankRequest, { newId }: DocumentAnswer): JsonObject {
  const { input = 0, searchUnits } = result
  return compact({
    id: result.id ?? newId(ID),
    model: result.model === '' ? request.model : result.model,
    object: 'list',
    results: result.ranks.map(({ index, score }) =>
      compact({
        index,
        relevance_score: score,
        document: request.returnDocuments ? written(request.documents[index]) : undefined,
      }),
    ),
    usage: { prompt_tokens: input, total_tokens: input },
    meta: searchUnits === undefined ? undefined : { billed_units: { search_units: searchUnits } },
  })
}

/** A text is reported as an object, too: all servers but one do so. */
function written(document: RankedDocument | undefined): Json | undefined {
  return document?.own ?? { text: document?.text ?? '' }
}

/** A canonical answer for clients of `POST /v2/rerank`. */
function encodeV2Result(
  { ranks, input, searchUnits, id: own }: RerankResult,
  _: RerankRequest,
  { newId }: DocumentAnswer,
): JsonObject {
  return {
    id: own ?? newId(ID),
    results: ranks.map(({ index, score }) => ({ index, relevance_score: score })),
    meta: compact({
      api_version: { version: '2' },
      billed_units: searchUnits === undefined ? undefined : { search_units: searchUnits },
      tokens: input === undefined ? undefined : { input_tokens: input },
    }),
  }
}

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
