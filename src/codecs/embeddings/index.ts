import type { EmbedCodec } from '../../core/codec.js'
import type { EmbedRequest, EmbedResult } from '../../core/embed.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { decodeError, errorInside } from '../compatible-errors.js'
import { isFetched } from '../media.js'
import { arrayOf, badUpstream, countOf, objectOf, stringOf } from '../read.js'
import { countVectors, readVector, toBase64 } from '../vectors.js'
import { decodeRequest, EMBEDDINGS_CARRIES, EMBEDDINGS_FIELDS, encodeRequest } from './request.js'

/**
 * An answer (CreateEmbeddingResponse) in canonical form. Throws `bad_upstream_response` where there are not as many
 * vectors as were asked for, or their order is not reported.
 */
function decodeResult(body: Json, request: EmbedRequest): EmbedResult {
  if (!isObject(body)) throw badUpstream('It is not an object.')
  if (body.error !== undefined && body.error !== null) throw errorInside(body, 'content')
  const data = countVectors(arrayOf(body.data).filter(isObject), request.inputs.length)
  const usage = objectOf(body.usage)
  const input = countOf(usage?.prompt_tokens) ?? countOf(usage?.total_tokens)
  return {
    model: stringOf(body.model) ?? '',
    vectors: inOrder(data).map(({ embedding }) => readVector(embedding, request.dimensions)),
    ...(input !== undefined && { input }),
  }
}

/** By `index`, if it is given; each index once. */
function inOrder(data: readonly JsonObject[]): readonly JsonObject[] {
  if (data.every(({ index }) => index === undefined || index === null)) return data
  const places: (JsonObject | undefined)[] = new Array(data.length).fill(undefined)
  for (const one of data) {
    const { index } = one
    if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= data.length || places[index]) {
      throw badUpstream('The vectors have no order.')
    }
    places[index] = one
  }
  return places.filter(one => one !== undefined)
}

/** A canonical answer as CreateEmbeddingResponse; vectors as the client wants them. */
function encodeResult(result: EmbedResult, request: EmbedRequest): JsonObject {
  const { input = 0 } = result
  return {
    object: 'list',
    data: result.vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: request.encoding === 'base64' ? toBase64(vector) : vector,
    })),
    model: result.model === '' ? request.model : result.model,
    usage: { prompt_tokens: input, total_tokens: input },
  }
}

/** Compatible embeddings: `POST …/embeddings`. */
export const embeddings: EmbedCodec = {
  operation: 'embed',
  protocol: 'embeddings',
  server: { decodeRequest, encodeResult, fields: EMBEDDINGS_FIELDS },
  client: {
    encodeRequest,
    decodeResult,
    decodeError,
    carries: EMBEDDINGS_CARRIES,
    takesUrl: (part, traits) => isFetched(part, traits, true),
  },
}
