import type { JsonObject } from '../../core/json.js'
import type { Route } from '../../core/plan.js'
import type { ResourceKind } from '../../core/resources.js'
import type { TaskAction } from '../../core/task.js'
import type { TaskRecordForm } from '../../core/task-kind.js'
import {
  COUNT,
  DELETED,
  FLAG,
  listOf,
  NUMBER,
  OBJECT,
  OBJECT_OR_NULL,
  page,
  record,
  TEXT,
  TEXT_OR_NULL,
  word,
} from './answer-shapes.js'
import { COMPATIBLE_ANSWERS, OWN_ANSWERS } from './answers-compatible.js'

const CONTENT = record({}, { role: TEXT, parts: listOf(OBJECT) })
const VECTOR = record({}, { values: listOf(NUMBER) })
const MESSAGE_FILE = record({ id: TEXT }, { type: TEXT, filename: TEXT, mime_type: TEXT, size_bytes: COUNT })
const DELETED_MESSAGE = record({ id: TEXT }, { type: TEXT })
const MESSAGE_BATCH = record(
  { id: TEXT, type: word('message_batch'), processing_status: TEXT },
  { request_counts: OBJECT, results_url: TEXT_OR_NULL, ended_at: TEXT_OR_NULL },
)
const NATIVE_FILE = record({}, { name: TEXT, uri: TEXT, mimeType: TEXT, sizeBytes: TEXT, state: TEXT, file: OBJECT })
const OPERATION = record({ name: TEXT }, { done: FLAG, metadata: OBJECT, response: OBJECT, error: OBJECT })

/** Answers of upstreams by the protocol of their route, as clients get them. */
const BY_PROTOCOL: Readonly<Record<string, JsonObject>> = {
  ...COMPATIBLE_ANSWERS,
  messages: record(
    {
      id: TEXT,
      type: word('message'),
      role: word('assistant'),
      model: TEXT,
      content: listOf(record({ type: TEXT }, { text: TEXT })),
      usage: record({ input_tokens: COUNT, output_tokens: COUNT }),
    },
    { stop_reason: TEXT_OR_NULL, stop_sequence: TEXT_OR_NULL },
  ),
  'messages.count_tokens': record({ input_tokens: COUNT }),
  'message-files': MESSAGE_FILE,
  'message-files.get': MESSAGE_FILE,
  'message-files.delete': DELETED_MESSAGE,
  'message-batches': MESSAGE_BATCH,
  'message-batches.retrieve': MESSAGE_BATCH,
  'message-batches.cancel': MESSAGE_BATCH,
  'message-batches.delete': DELETED_MESSAGE,
  generate: record(
    {},
    {
      candidates: listOf(record({}, { content: CONTENT, finishReason: TEXT, index: COUNT })),
      usageMetadata: record({}, { promptTokenCount: COUNT, candidatesTokenCount: COUNT, totalTokenCount: COUNT }),
      modelVersion: TEXT,
      responseId: TEXT,
    },
  ),
  'generate.count_tokens': record({ totalTokens: COUNT }),
  'embed-content': record({ embedding: VECTOR }),
  'embed-contents': record({ embeddings: listOf(VECTOR) }),
  predict: record({ predictions: listOf(OBJECT) }),
  'native-files': NATIVE_FILE,
  'native-files.get': NATIVE_FILE,
  'native-files.delete': OBJECT,
  'native-batches': OPERATION,
  'native-batches.get': OPERATION,
  'native-batches.cancel': OBJECT,
  'native-batches.delete': OBJECT,
  converse: record(
    { output: record({}, { message: record({ role: TEXT, content: listOf(OBJECT) }) }), stopReason: TEXT },
    { usage: record({ inputTokens: COUNT, outputTokens: COUNT }, { totalTokens: COUNT }), metrics: OBJECT },
  ),
}

const NATIVE_MODEL = record({ name: TEXT }, { displayName: TEXT, supportedGenerationMethods: listOf(TEXT) })
const MESSAGES_MODEL = record({ type: word('model'), id: TEXT }, { display_name: TEXT, created_at: TEXT })

/** Lists of models of the families that have their own. */
const MODELS: Readonly<Record<string, Readonly<Record<string, JsonObject>>>> = {
  native: { models: record({ models: listOf(NATIVE_MODEL) }, { nextPageToken: TEXT }), model: NATIVE_MODEL },
  messages: {
    models: record({ data: listOf(MESSAGES_MODEL), has_more: FLAG }, { first_id: TEXT_OR_NULL, last_id: TEXT_OR_NULL }),
    model: MESSAGES_MODEL,
  },
}

const TASK = record(
  { id: TEXT, object: TEXT, status: word('queued', 'in_progress', 'completed', 'failed') },
  { model: TEXT, progress: NUMBER, created_at: NUMBER, error: OBJECT_OR_NULL },
)
const TAKEN = record({ code: COUNT, result: TEXT }, { description: TEXT, taskId: TEXT, properties: OBJECT })
const IMAGE_TASK = record(
  { id: TEXT, status: TEXT },
  { action: TEXT, progress: TEXT, imageUrl: TEXT_OR_NULL, failReason: TEXT_OR_NULL },
)

/** By the form of a kind's records, what each action answers. */
const TASKS: Readonly<Record<TaskRecordForm, Readonly<Partial<Record<TaskAction, JsonObject>>>>> = {
  object: { submit: TASK, retrieve: TASK, cancel: TASK, list: page(TASK), delete: DELETED },
  operations: { submit: OPERATION, retrieve: OPERATION, cancel: OPERATION },
  'image-tasks': { submit: TAKEN, retrieve: IMAGE_TASK, cancel: IMAGE_TASK, select: listOf(IMAGE_TASK) },
}

/** Whole answers that are bytes, though nothing says so of the protocol. */
const BYTES: ReadonlySet<string> = new Set([
  'files.content',
  'message-files.content',
  'message-batches.results',
  'native-files.download',
])

export interface Answer {
  /** Name of its component, which operations share. */
  readonly name: string
  readonly schema: JsonObject
}

/** What a route's whole JSON answer is like; undefined where it is not JSON. */
export function answerOf(route: Route): Answer | undefined {
  const { answer, protocol, task, resource } = route
  if (answer !== undefined) return { name: ownName(route, answer), schema: ownAnswer(route, answer) }
  if (task !== undefined) {
    if (task.action === 'content') return undefined
    const name = `task.${task.kind.name}.${task.action}`
    const known = TASKS[task.kind.record][task.action]
    return known === undefined ? other(name) : { name, schema: known }
  }
  if (protocol === undefined) return (resource?.action === 'list' ? listed(resource.kind) : undefined) ?? other('pass')
  const known = BY_PROTOCOL[protocol.name]
  if (known !== undefined) return { name: protocol.name, schema: known }
  return protocol.binary === true || BYTES.has(protocol.name) ? undefined : other(protocol.name)
}

/** Nothing here knows what it holds: the upstream says it. */
function other(name: string): Answer {
  return {
    name,
    schema: { description: 'As the upstream sends it: the gateway has no schema of it.', type: ['object', 'array'] },
  }
}

function ownName({ errors, families }: Route, answer: string): string {
  // A protocol may have the same name.
  const name = `gateway.${answer}`
  if (answer !== 'models' && answer !== 'model') return name
  return [name, errors, ...families.map(({ family }) => family)].join('.')
}

/** Lists of models have the shape of the client's family, of which several may share a route. */
function ownAnswer({ errors, families }: Route, answer: string): JsonObject {
  const all = [errors, ...families.map(({ family }) => family)].map(
    (family): JsonObject => MODELS[family]?.[answer] ?? OWN_ANSWERS[answer] ?? OBJECT,
  )
  const [first = OBJECT] = all
  return all.length < 2 ? first : { anyOf: all }
}

function listed({ name, list }: ResourceKind): Answer | undefined {
  const item = BY_PROTOCOL[`${name}s`] ?? BY_PROTOCOL[`${name}es`]
  if (item === undefined || list === undefined) return undefined
  const items = { [list.member]: listOf(item) }
  const isPaged = list.pages === 'tokens'
  return {
    name: `list.${name}`,
    schema: isPaged ? record({}, { ...items, nextPageToken: TEXT }) : record(items, { has_more: FLAG }),
  }
}
