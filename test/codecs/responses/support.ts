import { responses } from '../../../src/codecs/responses/index.js'
import type { Frame, Traits } from '../../../src/core/codec.js'
import type { Json, JsonObject } from '../../../src/core/json.js'
import type { Part, TextEvent, TextRequest, TextResult, Turn } from '../../../src/core/text.js'
import { openApi, openApiFolder } from '../../helpers/openapi.js'
import { answerTo, brief, decodeAll, encodeAll, plain, requestOf, targetOf } from '../support.js'

const isChecked = openApiFolder() !== undefined

function checked<T extends Json>(name: 'responses.request' | 'responses.response' | 'responses.event', document: T): T {
  const faults = isChecked ? openApi(name)(document) : []
  if (faults.length > 0) throw new Error(`${faults} in ${brief(document)}`)
  return document
}

export function decode(body: JsonObject): TextRequest {
  return responses.server.decodeRequest({ model: 'm', input: 'Hello.', ...body }, requestOf())
}

/** Turns of a request that has just these items. */
export function turnsOf(...input: readonly Json[]): readonly Turn[] {
  return decode({ input }).turns
}

/** Names of what nothing holds. */
export function leftOf(body: JsonObject): readonly string[] {
  return decode(body).left.map(({ field }) => field)
}

/** A request on the wire, checked against the OpenAPI document, and what was lost on the way. */
export function encode(request: Partial<TextRequest>, traits: Traits = {}): { body: JsonObject; lost: string[] } {
  const target = targetOf(responses, traits)
  const body = checked('responses.request', plain(responses.client.encodeRequest(requestOf(request), target)))
  const lost = target.lost.map(({ field, at }) => (at === undefined ? field : `${field} ${at}`))
  return { body: body as JsonObject, lost }
}

/** `input` of a request with these turns. */
export function inputOf(...turns: readonly Turn[]): Json {
  return encode({ turns }).body.input ?? null
}

export function user(...parts: readonly Part[]): Turn {
  return { role: 'user', parts }
}

export function assistant(...parts: readonly Part[]): Turn {
  return { role: 'assistant', parts }
}

export function text(words: string): Part {
  return { type: 'text', text: words }
}

export function call(id: string, name = 'clock', args = '{}'): Part {
  return { type: 'call', id, name, arguments: args }
}

export function resultOf(parts: readonly Part[], more: Partial<TextResult> = {}): TextResult {
  return { id: 'a', model: 'up', created: 7, candidates: [{ parts, end: { reason: 'stop' } }], ...more }
}

/** A response object, checked, and what it could not say. */
export function respond(result: TextResult, body: JsonObject = {}): { body: JsonObject; lost: string[] } {
  const answer = answerTo(requestOf(), body)
  const response = checked('responses.response', plain(responses.server.encodeResult(result, answer)))
  return { body: response as JsonObject, lost: answer.lost }
}

/** A response object of an upstream, completed unless more is said. */
export function response(output: Json, more: JsonObject = {}): JsonObject {
  return { id: 'resp_1', object: 'response', created_at: 7, model: 'up', status: 'completed', output, ...more }
}

export function read(output: Json, more: JsonObject = {}): TextResult {
  return responses.client.decodeResult(response(output, more))
}

export function message(words: string, more: JsonObject = {}): JsonObject {
  const content = [{ type: 'output_text', text: words, annotations: [] }]
  return { type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content, ...more }
}

/** Documents of the stream that these events become, checked one by one, and what they could not say. */
export function documents(
  sent: readonly TextEvent[],
  body: JsonObject = {},
): { documents: JsonObject[]; lost: string[]; frames: Frame[] } {
  const answer = answerTo(requestOf({ stream: true }), body)
  const frames = encodeAll(responses, sent, answer)
  const documents = frames.map(({ data }) => checked('responses.event', JSON.parse(data) as Json) as JsonObject)
  return { documents, lost: answer.lost, frames }
}

/** Events of a stream of these documents, each with its `type` as the name of its event. */
export function events(...sent: readonly JsonObject[]): TextEvent[] {
  return decodeAll(responses, sent.map(frameOf))
}

export function frameOf(document: JsonObject): Frame {
  return { event: String(document.type), data: JSON.stringify(document) }
}

export const CREATED: JsonObject = {
  type: 'response.created',
  sequence_number: 0,
  response: response([], { status: 'in_progress' }),
}

export function completed(output: Json = [], more: JsonObject = {}): JsonObject {
  return { type: 'response.completed', response: response(output, more) }
}

export function added(output_index: number, item: JsonObject): JsonObject {
  return { type: 'response.output_item.added', output_index, item }
}

export function done(output_index: number, item: JsonObject): JsonObject {
  return { type: 'response.output_item.done', output_index, item }
}

/** `response.<name>` of the item at a place. */
export function event(name: string, output_index: number, members: JsonObject): JsonObject {
  return { type: `response.${name}`, output_index, item_id: `item_${output_index}`, ...members }
}
