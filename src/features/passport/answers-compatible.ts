import type { JsonObject } from '../../core/json.js'
import {
  COUNT,
  DELETED,
  FLAG,
  listOf,
  NUMBER,
  OBJECT,
  OBJECT_OR_NULL,
  orNull,
  page,
  record,
  TEXT,
  TEXT_OR_NULL,
  word,
} from './answer-shapes.js'

const CHAT_USAGE = record({ prompt_tokens: COUNT, total_tokens: COUNT }, { completion_tokens: COUNT })
const ITEM_USAGE = record({ input_tokens: COUNT, output_tokens: COUNT }, { total_tokens: COUNT })

const CHAT_MESSAGE = record(
  { role: TEXT },
  { content: TEXT_OR_NULL, refusal: TEXT_OR_NULL, tool_calls: listOf(record({ type: TEXT }, { id: TEXT })) },
)

const CHAT = record(
  {
    id: TEXT,
    object: word('chat.completion'),
    created: COUNT,
    model: TEXT,
    choices: listOf(record({ index: COUNT, message: CHAT_MESSAGE }, { finish_reason: TEXT_OR_NULL })),
  },
  { usage: orNull(CHAT_USAGE) },
)

const RESPONSE = record(
  { id: TEXT, object: word('response'), status: TEXT, output: listOf(record({ type: TEXT })) },
  { created_at: NUMBER, model: TEXT, usage: orNull(ITEM_USAGE), error: OBJECT_OR_NULL },
)

const ITEM = record({ type: TEXT }, { id: TEXT })
const CONVERSATION = record(
  { id: TEXT, object: word('conversation') },
  { created_at: NUMBER, metadata: OBJECT_OR_NULL },
)
const IMAGES = record(
  { created: COUNT, data: listOf(record({}, { b64_json: TEXT_OR_NULL, url: TEXT_OR_NULL })) },
  { usage: OBJECT },
)
const FILE = record(
  { id: TEXT, object: word('file') },
  { bytes: COUNT, filename: TEXT, purpose: TEXT, created_at: NUMBER },
)
const UPLOAD = record(
  { id: TEXT, object: word('upload'), status: TEXT },
  { bytes: COUNT, filename: TEXT, file: OBJECT_OR_NULL },
)
const BATCH = record(
  { id: TEXT, object: word('batch'), status: TEXT },
  {
    endpoint: TEXT,
    input_file_id: TEXT,
    output_file_id: TEXT_OR_NULL,
    error_file_id: TEXT_OR_NULL,
    request_counts: OBJECT_OR_NULL,
  },
)
const RANKED = record(
  { results: listOf(record({ index: COUNT, relevance_score: NUMBER })) },
  { id: TEXT, meta: OBJECT },
)
const TRANSCRIPT = record({ text: TEXT }, { language: TEXT, duration: NUMBER, segments: listOf(OBJECT) })
const MODEL = record({ id: TEXT, object: word('model') }, { created: COUNT, owned_by: TEXT })

/** Answers of the compatible interface, by protocol or by what the gateway answers itself. */
export const COMPATIBLE_ANSWERS: Readonly<Record<string, JsonObject>> = {
  chat: CHAT,
  completions: record(
    {
      id: TEXT,
      object: word('text_completion'),
      created: COUNT,
      model: TEXT,
      choices: listOf(record({ index: COUNT, text: TEXT }, { finish_reason: TEXT_OR_NULL })),
    },
    { usage: orNull(CHAT_USAGE) },
  ),
  responses: RESPONSE,
  'responses.input_tokens': record({ input_tokens: COUNT }, { object: TEXT }),
  embeddings: record(
    {
      object: word('list'),
      data: listOf(record({ index: COUNT, embedding: { anyOf: [listOf(NUMBER), TEXT] } }, { object: TEXT })),
    },
    { model: TEXT, usage: CHAT_USAGE },
  ),
  moderations: record(
    { results: listOf(record({ flagged: FLAG }, { categories: OBJECT, category_scores: OBJECT })) },
    { id: TEXT, model: TEXT },
  ),
  'images.generations': IMAGES,
  'images.edits': IMAGES,
  'images.variations': IMAGES,
  transcriptions: TRANSCRIPT,
  translations: TRANSCRIPT,
  rerank: RANKED,
  'rerank.v2': RANKED,
  files: FILE,
  'files.retrieve': FILE,
  'files.delete': DELETED,
  uploads: UPLOAD,
  'uploads.parts': record({ id: TEXT }, { object: TEXT, upload_id: TEXT }),
  'uploads.complete': UPLOAD,
  'uploads.cancel': UPLOAD,
  batches: BATCH,
  'batches.retrieve': BATCH,
  'batches.cancel': BATCH,
}

/** What the gateway answers itself, by its name in a route's `answer`. */
export const OWN_ANSWERS: Readonly<Record<string, JsonObject>> = {
  models: record({ object: word('list'), data: listOf(MODEL) }),
  model: MODEL,
  response: RESPONSE,
  'response.delete': DELETED,
  'response.input_items': page(ITEM),
  'response.cancel': RESPONSE,
  'response.compact': record({ id: TEXT, object: TEXT, output: listOf(ITEM) }, { usage: ITEM_USAGE }),
  'conversation.create': CONVERSATION,
  conversation: CONVERSATION,
  'conversation.update': CONVERSATION,
  'conversation.delete': DELETED,
  'conversation.items': page(ITEM),
  'conversation.items.create': page(ITEM),
  'conversation.item': ITEM,
  'conversation.item.delete': CONVERSATION,
  completions: page(CHAT),
  completion: CHAT,
  'completion.update': CHAT,
  'completion.delete': DELETED,
  'completion.messages': page(CHAT_MESSAGE),
  client_secret: record({ value: TEXT, expires_at: NUMBER }, { session: OBJECT }),
  usage: record(
    {
      object: word('usage'),
      key: TEXT,
      group: TEXT_OR_NULL,
      limits: listOf(
        record({
          scope: TEXT,
          name: TEXT,
          unit: TEXT,
          window: TEXT_OR_NULL,
          limit: NUMBER,
          used: NUMBER,
          reserved: NUMBER,
          left: NUMBER,
          resets_at: { type: ['number', 'null'] },
        }),
      ),
    },
    {},
  ),
  openapi: record({ openapi: TEXT, info: OBJECT, paths: OBJECT, components: OBJECT }),
}
