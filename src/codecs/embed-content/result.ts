import type { EmbedRequest, EmbedResult } from '../../core/embed.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { errorOf, streamError } from '../native-errors.js'
import { arrayOf, badUpstream, countOf, objectOf } from '../read.js'
import { countVectors, readVector } from '../vectors.js'

/** EmbedContentResponse in canonical form. Throws `bad_upstream_response`. */
export function decodeSingleResult(body: Json, request: EmbedRequest): EmbedResult {
  const document = read(body)
  const found = document.embedding === undefined ? [] : [document.embedding]
  return resultOf(document, countVectors(found, request.inputs.length))
}

/** BatchEmbedContentsResponse in canonical form. Throws `bad_upstream_response`. */
export function decodeBatchResult(body: Json, request: EmbedRequest): EmbedResult {
  const document = read(body)
  return resultOf(document, countVectors(arrayOf(document.embeddings), request.inputs.length))
}

function read(body: Json): JsonObject {
  const error = errorOf(body)
  if (error !== undefined) throw streamError(error)
  if (!isObject(body)) throw badUpstream('It is not an object.')
  return body
}

function resultOf(document: JsonObject, embeddings: readonly Json[]): EmbedResult {
  const counts = objectOf(document.usageMetadata)
  const input = countOf(counts?.promptTokenCount) ?? countOf(counts?.totalTokenCount)
  return {
    model: '',
    vectors: embeddings.map(embedding => readVector(objectOf(embedding)?.values)),
    ...(input !== undefined && { input }),
  }
}

/** A canonical answer as EmbedContentResponse: the vector of the one input. */
export function encodeSingleResult(result: EmbedResult): JsonObject {
  return { embedding: { values: result.vectors[0] ?? [] }, ...writeUsage(result) }
}

/** A canonical answer as BatchEmbedContentsResponse. */
export function encodeBatchResult(result: EmbedResult): JsonObject {
  return { embeddings: result.vectors.map(values => ({ values })), ...writeUsage(result) }
}

function writeUsage({ input }: EmbedResult): JsonObject {
  return input === undefined ? {} : { usageMetadata: { promptTokenCount: input } }
}
