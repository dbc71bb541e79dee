import { messageBlocks } from '../../families/messages.js'
import {
  type Answer,
  type Call,
  endpoint,
  eventStream,
  json,
  namedEvent,
  type Protocol,
  type StreamEvent,
} from '../../protocol.js'
import { promptTokens } from '../../text/usage.js'
import { type Reply, reply } from './message.js'
import { messageModelById, messageModels } from './models.js'
import { readCountRequest, readMessagesRequest } from './request.js'

/** `POST /v1/messages`, whole or as a stream of typed events that ends with `message_stop`. */
const messages = endpoint(
  messageBlocks,
  'POST /v1/messages',
  { body: 'json', models: ['sim-messages'] },
  answerMessages,
)

export function answerMessages(call: Call): Answer {
  const request = readMessagesRequest(call)
  const answer = reply(request, call)
  if (!request.stream) return json(whole(answer))
  return eventStream(events(answer), error => [namedEvent('error', messageBlocks.body(error, call.requestId))])
}

const countTokens = endpoint(messageBlocks, 'POST /v1/messages/count_tokens', { body: 'json' }, call =>
  json({ input_tokens: promptTokens(readCountRequest(call).text).input }),
)

export const MESSAGES: readonly Protocol[] = [messages, countTokens, messageModels, messageModelById]

/** The finished message. */
function whole(reply: Reply): object {
  const { blocks, stop, usage } = reply
  return { ...head(reply), content: blocks.map(block => block.whole), ...stop, usage: usage.ended, container: null }
}

/** The events of a message. Blocks never interleave; a ping follows the start of the first. */
function* events(reply: Reply): Generator<StreamEvent> {
  const { blocks, stop, usage } = reply
  const none = { stop_reason: null, stop_sequence: null, stop_details: null }
  const message = { ...head(reply), content: [], ...none, usage: usage.begun, container: null }
  yield namedEvent('message_start', { message })
  if (blocks.length === 0) yield namedEvent('ping', {})
  for (const [index, { begun, deltas }] of blocks.entries()) {
    yield namedEvent('content_block_start', { index, content_block: begun })
    if (index === 0) yield namedEvent('ping', {})
    for (const delta of deltas) yield namedEvent('content_block_delta', { index, delta })
    yield namedEvent('content_block_stop', { index })
  }
  yield namedEvent('message_delta', { delta: { ...stop, container: null }, usage: lasting(usage.ended) })
  yield { ...namedEvent('message_stop', {}), terminal: true }
}

function head({ id, model }: Reply): object {
  return { model, id, type: 'message', role: 'assistant' }
}

const AT_START = ['cache_creation', 'service_tier', 'inference_geo']

/** The counts that the end of a stream tells again. */
function lasting(usage: object | undefined): object | undefined {
  if (usage === undefined) return undefined
  return Object.fromEntries(Object.entries(usage).filter(([name]) => !AT_START.includes(name)))
}
