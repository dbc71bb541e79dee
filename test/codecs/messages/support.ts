import { messages } from '../../../src/codecs/messages/index.js'
import type { Frame, Traits } from '../../../src/core/codec.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Part, TextEvent, TextRequest, Turn } from '../../../src/core/text.js'
import { openApi, openApiFolder } from '../../helpers/openapi.js'
import { answerTo, decodeAll, encodeAll, plain, requestOf, targetOf } from '../support.js'

const isChecked = openApiFolder() !== undefined

/** A request on the wire, checked against the OpenAPI document, and what was lost on the way. */
export function encode(request: Partial<TextRequest>, traits: Traits = {}): { body: JsonObject; lost: string[] } {
  const target = targetOf(messages, traits)
  const body = plain(messages.client.encodeRequest(requestOf(request), target)) as JsonObject
  const faults = isChecked ? openApi('messages-beta.request')(body) : []
  if (faults.length > 0) throw new Error(`${faults} in ${JSON.stringify(body)}`)
  return { body, lost: target.lost.map(({ field, at }) => (at === undefined ? field : `${field} ${at}`)) }
}

export function decode(body: JsonObject): TextRequest {
  return messages.server.decodeRequest({ model: 'm', max_tokens: 100, messages: [], ...body }, requestOf())
}

/** Parts of the turns of a request that has just these messages. */
export function partsOf(...turns: Json[]): readonly Part[] {
  return decode({ messages: turns }).turns.flatMap(({ parts }) => parts)
}

export function user(...parts: Part[]): Turn {
  return { role: 'user', parts }
}

export function assistant(...parts: Part[]): Turn {
  return { role: 'assistant', parts }
}

export function text(words: string): Part {
  return { type: 'text', text: words }
}

export function call(id: string, name = 'clock', args = '{}'): Part {
  return { type: 'call', id, name, arguments: args }
}

export function result(id: string, words = 'Noon.'): Part {
  return { type: 'result', id, parts: [{ type: 'text', text: words }] }
}

/** Events of a stream of these documents, each with its `type` as the name of its event. */
export function events(...documents: JsonObject[]): TextEvent[] {
  return decodeAll(messages, documents.map(frameOf))
}

export function frameOf(document: JsonObject): Frame {
  return { event: String(document.type), data: JSON.stringify(document) }
}

/** Documents of the stream that these events become. */
export function documents(...sent: TextEvent[]): { documents: JsonObject[]; lost: string[]; frames: Frame[] } {
  const answer = answerTo(requestOf({ stream: true }))
  const frames = encodeAll(messages, sent, answer)
  return { documents: frames.map(({ data }) => JSON.parse(data) as JsonObject), lost: answer.lost, frames }
}

export const START: JsonObject = {
  type: 'message_start',
  message: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'up',
    content: [],
    usage: { input_tokens: 3, output_tokens: 1 },
  },
}
export const STOP: JsonObject = { type: 'message_stop' }

export function started(index: number, block: JsonObject): JsonObject {
  return { type: 'content_block_start', index, content_block: block }
}

export function delta(index: number, value: JsonObject): JsonObject {
  return { type: 'content_block_delta', index, delta: value }
}

export function stopped(index: number): JsonObject {
  return { type: 'content_block_stop', index }
}

export function ended(reason: string, usage: JsonObject = { output_tokens: 5 }): JsonObject {
  return { type: 'message_delta', delta: { stop_reason: reason, stop_sequence: null }, usage }
}
