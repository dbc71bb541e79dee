import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { JsonObject } from '../../src/core/json.js'
import { OpenApiSchemas, type Reading } from './openapi-schemas.js'
import { referenceFolder } from './recordings.js'
import { converseDocument } from './smithy.js'

type Mode = 'closed' | 'client'

/**
 * What can be checked: the document, the schema in it, and how the service reads it. `closed`: it refuses members that it
 * does not know; `client`: that, and snake_case, which clients may send and we do not.
 */
const DOCUMENTS = {
  'chat.request': ['openai', 'CreateChatCompletionRequest'],
  'chat.response': ['openai', 'CreateChatCompletionResponse'],
  'chat.event': ['openai', 'CreateChatCompletionStreamResponse'],
  'chat.list': ['openai', 'ChatCompletionList'],
  'chat.messages': ['openai', 'ChatCompletionMessageList'],
  'client-secret.response': ['openai', 'RealtimeCreateClientSecretResponse'],
  'chat.deleted': ['openai', 'ChatCompletionDeleted'],
  'responses.request': ['openai', 'CreateResponse'],
  'responses.response': ['openai', 'Response'],
  'responses.event': ['openai', 'ResponseStreamEvent'],
  'responses-count.request': ['openai', 'TokenCountsBody'],
  'responses-count.response': ['openai', 'TokenCountsResource'],
  'moderations.request': ['openai', 'CreateModerationRequest'],
  'moderations.response': ['openai', 'CreateModerationResponse'],
  'rerank.response': ['jina', 'RerankingResponse'],
  'compatible.error': ['openai', 'ErrorResponse'],
  'embeddings.request': ['openai', 'CreateEmbeddingRequest'],
  'embeddings.response': ['openai', 'CreateEmbeddingResponse'],
  'images.request': ['openai', 'CreateImageRequest', 'closed'],
  'images.response': ['openai', 'ImagesResponse'],
  'images.event': ['openai', 'ImageGenStreamEvent'],
  'images.edit-event': ['openai', 'ImageEditStreamEvent'],
  'videos.request': ['openai', 'CreateVideoJsonBody'],
  'videos.response': ['openai', 'VideoResource'],
  'videos.list': ['openai', 'VideoListResource'],
  'videos.deleted': ['openai', 'DeletedVideoResource'],
  'speech.request': ['openai', 'CreateSpeechRequest'],
  'speech.event': ['openai', 'CreateSpeechResponseStreamEvent'],
  'messages.request': ['anthropic', 'CreateMessageParams'],
  'messages.response': ['anthropic', 'Message'],
  'messages.event': ['anthropic', 'MessageStreamEvent'],
  'messages.error': ['anthropic', 'ErrorResponse'],
  'messages-beta.request': ['anthropic', 'BetaCreateMessageParams'],
  'messages-beta.response': ['anthropic', 'BetaMessage'],
  'messages-beta.event': ['anthropic', 'BetaMessageStreamEvent'],
  'messages-count.request': ['anthropic', 'CountMessageTokensParams'],
  'messages-count.response': ['anthropic', 'CountMessageTokensResponse'],
  'messages-beta-count.request': ['anthropic', 'BetaCountMessageTokensParams'],
  'generate.request': ['gemini', 'GenerateContentRequest', 'closed'],
  'generate-client.request': ['gemini', 'GenerateContentRequest', 'client'],
  'generate.response': ['gemini', 'GenerateContentResponse'],
  'generate.event': ['gemini', 'GenerateContentResponse'],
  'generate-count.request': ['gemini', 'CountTokensRequest', 'closed'],
  'generate-count.response': ['gemini', 'CountTokensResponse'],
  'embed.request': ['gemini', 'EmbedContentRequest', 'closed'],
  'embed.response': ['gemini', 'EmbedContentResponse'],
  'embed-batch.request': ['gemini', 'BatchEmbedContentsRequest', 'closed'],
  'embed-batch.response': ['gemini', 'BatchEmbedContentsResponse'],
  'converse.request': ['converse', 'ConverseRequest'],
  'converse.response': ['converse', 'ConverseResponse'],
  'converse.event': ['converse', 'ConverseEvent'],
} as const satisfies Record<string, readonly [string, string, Mode?]>

export type OpenApiName = keyof typeof DOCUMENTS
export const OPEN_API_NAMES = Object.keys(DOCUMENTS) as readonly OpenApiName[]

/**
 * Where a document and what its service really takes and sends part ways, as the recordings show. The native document
 * marks nothing as required; its service does require these (its prose and its errors say so).
 */
const NATIVE_REQUEST = {
  GenerateContentRequest: ['contents'],
  Content: ['parts'],
  Blob: ['mimeType', 'data'],
  FileData: ['fileUri'],
  FunctionCall: ['name'],
  FunctionResponse: ['name', 'response'],
  FunctionDeclaration: ['name'],
  EmbedContentRequest: ['content'],
  BatchEmbedContentsRequest: ['requests'],
}
const NATIVE_RESPONSE = { FunctionCall: ['name'], Blob: ['mimeType', 'data'], ContentEmbedding: ['values'] }

const COMPATIBLE: Reading = {
  nullable: true,
  optional: {
    'ResponseUsage.input_tokens_details': ['cache_write_tokens'],
    // Streams of the years before had none of these.
    ResponseFunctionCallArgumentsDoneEvent: ['name'],
  },
  also: {
    // Custom tools are called in streams, too.
    ChatCompletionMessageToolCallChunk: {
      type: 'object',
      properties: { index: { type: 'integer' }, type: { const: 'custom' } },
      required: ['index', 'type'],
    },
  },
}

/** Items of a history need not have what only an answer can know. */
const COMPATIBLE_REQUEST: Reading = {
  nullable: true,
  optional: {
    OutputMessage: ['id', 'status'],
    OutputTextContent: ['logprobs', 'annotations'],
    ReasoningItem: ['id'],
  },
  also: {
    EasyInputMessage: {
      type: 'object',
      properties: {
        role: { const: 'assistant' },
        content: { type: 'array', items: { $ref: '#/components/schemas/OutputMessageContent' } },
      },
      required: ['role', 'content'],
    },
  },
}

const MESSAGES: Reading = {
  nullable: true,
  optional: { BetaServerToolUsage: ['web_fetch_requests'], ResponseToolUseBlock: ['caller'] },
  also: {
    BetaInputMessage: {
      type: 'object',
      properties: { role: { const: 'system' }, content: {} },
      required: ['role', 'content'],
    },
    BetaMessageStreamEvent: { type: 'object', properties: { type: { const: 'ping' } }, required: ['type'] },
  },
}

/** Where the OpenAPI documents lie, or `undefined` (said aloud) where they do not; under `CI=true` that is an error. */
export function openApiFolder(): string | undefined {
  const folder = join(referenceFolder(), 'specs')
  if (existsSync(join(folder, 'openai', 'openapi.json'))) return folder
  if (process.env.CI === 'true') throw new Error(`no OpenAPI documents in ${folder} (set REFERENCE_DIR)`)
  console.error(`# SKIPPED: no OpenAPI documents in ${folder} (set REFERENCE_DIR to run these tests)`)
  return undefined
}

const read = new Map<string, JsonObject>()
const compiled = new Map<OpenApiName, (document: unknown) => string[]>()

/** The schemas that a kind of document is checked with. */
export function openApiSchemas(name: OpenApiName): { readonly schemas: OpenApiSchemas; readonly root: string } {
  const folder = openApiFolder()
  if (folder === undefined) throw new Error('there are no OpenAPI documents: ask openApiFolder first')
  const [vendor, root, mode] = DOCUMENTS[name] as readonly [string, string, Mode?]
  let document = read.get(vendor)
  if (document === undefined) {
    // This protocol has no such document, but its SDK has the shapes.
    document =
      vendor === 'converse'
        ? converseDocument()
        : (JSON.parse(readFileSync(join(folder, vendor, 'openapi.json'), 'utf8')) as JsonObject)
    read.set(vendor, document)
  }
  return { schemas: new OpenApiSchemas(document, reading(vendor, name.endsWith('.request'), mode)), root }
}

function reading(vendor: string, request: boolean, mode: Mode | undefined): Reading {
  if (vendor === 'openai') return request ? COMPATIBLE_REQUEST : COMPATIBLE
  if (vendor === 'anthropic') return MESSAGES
  if (vendor === 'converse') return { closed: true }
  if (mode === undefined) return { proto: true, required: NATIVE_RESPONSE }
  return { proto: true, closed: true, snake: mode === 'client', required: NATIVE_REQUEST }
}

/**
 * A function that says what of a document breaks the family's OpenAPI document: `messages[0].role: must be …`; nothing
 * where it is sound. Compiled once a process. Needs {@link openApiFolder}.
 */
export function openApi(name: OpenApiName): (document: unknown) => string[] {
  let check = compiled.get(name)
  if (check === undefined) {
    const { schemas, root } = openApiSchemas(name)
    check = checkBy(schemas.schema(root))
    compiled.set(name, check)
  }
  return check
}

/** As {@link openApi}, for a schema of one's own. */
export function checkBy(schema: JsonObject): (document: unknown) => string[] {
  const validate: ValidateFunction = new Ajv({ strict: false, allErrors: true, validateFormats: false }).compile(schema)
  return document => (validate(document) ? [] : violations(validate.errors ?? []))
}

/** Frames around the fault (`anyOf`, `if`) say nothing that the fault itself does not. */
const FRAMES = ['anyOf', 'oneOf', 'if']

function violations(errors: readonly ErrorObject[]): string[] {
  const exact = errors.filter(({ keyword }) => !FRAMES.includes(keyword))
  const deepest = (exact.length > 0 ? exact : [...errors]).sort((a, b) => depth(b) - depth(a))
  return [...new Set(deepest.map(sentence))]
}

/** The branch of a union that was meant goes further into the document than the others: its faults come first. */
function depth({ instancePath }: ErrorObject): number {
  return instancePath.split('/').length
}

function sentence({ instancePath, message, params }: ErrorObject): string {
  const more = params.additionalProperty ?? params.allowedValues ?? params.allowedValue
  return `${dotted(instancePath)}: ${message}${more === undefined ? '' : ` (${JSON.stringify(more)})`}`
}

/** `/messages/0/role` as `messages[0].role`. */
function dotted(pointer: string): string {
  const path = pointer.replace(/\/(\d+)(?=\/|$)/g, '[$1]').replaceAll('/', '.')
  return path.replace(/^\./, '') || 'the document'
}
