import type { EmbedCodec, Traits } from '../../core/codec.js'
import type { EmbedField, EmbedRequest, EmbedResult } from '../../core/embed.js'
import type { Carry, FieldMapping } from '../../core/fields.js'
import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { MediaPart } from '../../core/text.js'
import { isFetched } from '../media.js'
import { decodeError, errorOf, streamError } from '../native-errors.js'
import { arrayOf, badUpstream, countOf, objectOf } from '../read.js'
import { countVectors, NOT_DECLARED, readVector } from '../vectors.js'
import { decodeBatch, decodeSingle, encodeBatch, encodeSingle } from './request.js'

const LEFT_OPTION: FieldMapping<EmbedField> = { left: 'only this protocol has this option' }

/** What parts of a conversation can hold beside words and media. */
const LEFT_MEMBERS = [
  ...['functionCall', 'functionResponse', 'toolCall', 'toolResponse', 'executableCode', 'codeExecutionResult'],
  ...['thought', 'thoughtSignature', 'mediaProcessing', 'mediaResolution', 'videoMetadata', 'partMetadata'],
]
const LEFT_PART: FieldMapping<EmbedField> = { left: 'not embedded by other protocols' }

const CONTENT: Readonly<Record<string, FieldMapping<EmbedField>>> = {
  model: { here: 'chooses the model' },
  content: 'inputs',
  'content.role': { here: 'embeddings have no roles' },
  'content.parts': 'inputs',
  'content.parts[].text': 'inputs',
  'content.parts[].inlineData': 'mediaInputs',
  'content.parts[].inlineData.mimeType': 'mediaInputs',
  'content.parts[].inlineData.data': 'mediaInputs',
  'content.parts[].fileData': 'mediaInputs',
  'content.parts[].fileData.mimeType': 'mediaInputs',
  'content.parts[].fileData.fileUri': 'mediaInputs',
  ...Object.fromEntries(LEFT_MEMBERS.map(name => [`content.parts[].${name}`, LEFT_PART])),
  taskType: 'task',
  title: 'title',
  outputDimensionality: 'dimensions',
  embedContentConfig: ['task', 'title', 'dimensions'],
  'embedContentConfig.taskType': 'task',
  'embedContentConfig.title': 'title',
  'embedContentConfig.outputDimensionality': 'dimensions',
  'embedContentConfig.autoTruncate': LEFT_OPTION,
  'embedContentConfig.documentOcr': LEFT_OPTION,
  'embedContentConfig.audioTrackExtraction': LEFT_OPTION,
}

/** Members of EmbedContentRequest. */
const SINGLE_FIELDS = CONTENT

/** Members of BatchEmbedContentsRequest. */
const BATCH_FIELDS: Readonly<Record<string, FieldMapping<EmbedField>>> = {
  model: { here: 'chooses the model' },
  requests: 'inputs',
  ...Object.fromEntries(Object.entries(CONTENT).map(([name, held]) => [`requests[].${name}`, held])),
}

const NATIVE_CARRIES: Readonly<Record<EmbedField, Carry>> = {
  inputs: 'carried',
  tokenInputs: { refused: 'the protocol does not accept tokens' },
  mediaInputs: NOT_DECLARED,
  dimensions: 'carried',
  encoding: 'carried',
  task: 'carried',
  title: 'carried',
  user: { dropped: 'the protocol has no such member' },
}

/** EmbedContentResponse in canonical form. Throws `bad_upstream_response`. */
function decodeSingleResult(body: Json, request: EmbedRequest): EmbedResult {
  const document = read(body)
  const found = document.embedding === undefined ? [] : [document.embedding]
  return resultOf(document, countVectors(found, request.inputs.length))
}

/** BatchEmbedContentsResponse in canonical form. Throws `bad_upstream_response`. */
function decodeBatchResult(body: Json, request: EmbedRequest): EmbedResult {
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
function encodeSingleResult(result: EmbedResult): JsonObject {
  return { embedding: { values: result.vectors[0] ?? [] }, ...writeUsage(result) }
}

/** A canonical answer as BatchEmbedContentsResponse. */
function encodeBatchResult(result: EmbedResult): JsonObject {
  return { embeddings: result.vectors.map(values => ({ values })), ...writeUsage(result) }
}

function writeUsage({ input }: EmbedResult): JsonObject {
  return input === undefined ? {} : { usageMetadata: { promptTokenCount: input } }
}

/** Native embeddings, one at a time: `POST …/models/{model}:embedContent`. */
export const embedContent: EmbedCodec = {
  operation: 'embed',
  protocol: 'embed-content',
  server: { decodeRequest: decodeSingle, encodeResult: encodeSingleResult, fields: SINGLE_FIELDS },
  client: {
    encodeRequest: encodeSingle,
    decodeResult: decodeSingleResult,
    decodeError,
    carries: NATIVE_CARRIES,
    takesUrl,
  },
}

/** Native embeddings, several at once: `POST …/models/{model}:batchEmbedContents`. */
export const embedContents: EmbedCodec = {
  operation: 'embed',
  protocol: 'embed-contents',
  server: { decodeRequest: decodeBatch, encodeResult: encodeBatchResult, fields: BATCH_FIELDS },
  client: {
    encodeRequest: encodeBatch,
    decodeResult: decodeBatchResult,
    decodeError,
    carries: NATIVE_CARRIES,
    takesUrl,
  },
}

/** It embeds bytes, and files of its own. */
function takesUrl(part: MediaPart, traits: Traits): boolean {
  return isFetched(part, traits, false)
}
