import t, { type Test } from 'tap'
import { fold } from '../../../src/codecs/fold.js'
import { messages } from '../../../src/codecs/messages/index.js'
import { isObject, type Json, type JsonObject } from '../../../src/core/json.js'
import type { Part, TextRequest, TextResult } from '../../../src/core/text.js'
import { openApi, openApiFolder } from '../../helpers/openapi.js'
import { type TextExchange, textExchanges } from '../../helpers/text-recordings.js'
import { answerTo, decodeAll, faultsOf, plain, requestOf, targetOf } from '../support.js'

const all = (await textExchanges()).filter(({ protocol }) => protocol === 'messages')
const skip = (all.length === 0 || openApiFolder() === undefined) && 'no recordings'

/** Begins another answer in the middle of one: nothing of it can be used. */
const SPLICED = 'spliced-message-start'

const good = all.filter(({ status, name }) => status < 300 && !name.includes(SPLICED))
const streams = good.filter((one): one is TextExchange & { frames: object } => one.frames !== undefined)
const wholes = good.filter(({ result }) => isObject(result))

/** A message out of the events of its stream, as plainly as it can be done. Some files hold several streams. */
function gathered({ frames = [] }: TextExchange): JsonObject {
  let message: Record<string, Json> = {}
  const blocks: Record<string, Json>[] = []
  const json: string[] = []
  for (const { data } of frames) {
    const event = JSON.parse(data) as Record<string, Json>
    const at = Number(event.index)
    if (event.type === 'message_stop') break
    if (event.type === 'message_start') message = { ...(event.message as JsonObject) }
    if (event.type === 'content_block_start') {
      blocks[at] = { ...(event.content_block as JsonObject) }
      json[at] = ''
    }
    if (event.type === 'message_delta') {
      const known = Object.entries(event.usage as JsonObject).filter(([, count]) => count !== null)
      const usage = { ...(message.usage as JsonObject), ...Object.fromEntries(known) }
      message = { ...message, ...(event.delta as JsonObject), usage }
    }
    if (event.type !== 'content_block_delta') continue
    const block = blocks[at]!
    const delta = event.delta as Record<string, Json>
    if (delta.type === 'text_delta') block.text = `${block.text}${delta.text}`
    else if (delta.type === 'thinking_delta') block.thinking = `${block.thinking}${delta.thinking}`
    else if (delta.type === 'signature_delta') block.signature = delta.signature!
    else if (delta.type === 'input_json_delta') json[at] = `${json[at]}${delta.partial_json}`
    else if (delta.type === 'citations_delta')
      block.citations = [...((block.citations ?? []) as Json[]), delta.citation!]
    else Object.assign(block, { ...delta, type: block.type })
  }
  for (const [i, text] of json.entries()) if (text !== '') blocks[i]!.input = JSON.parse(text) as Json
  return { ...message, content: blocks }
}

/** What a canonical part has to say of a block. */
function expected(block: Record<string, Json>): object {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text, citations: (block.citations as Json[] | null | undefined)?.length ?? 0 }
    case 'thinking':
      return { type: 'reasoning', text: block.thinking, seal: block.signature }
    case 'redacted_thinking':
      return { type: 'reasoning', text: '', seal: block.data }
    case 'tool_use':
      return { type: 'call', id: block.id, name: block.name, input: block.input }
    default:
      return { type: 'hosted', value: block }
  }
}

function seen(part: Part): object {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text, citations: part.citations?.length ?? 0 }
    case 'reasoning':
      return { type: 'reasoning', text: part.text, seal: part.seal?.value }
    case 'call':
      return { type: 'call', id: part.id, name: part.name, input: JSON.parse(part.arguments) }
    case 'hosted':
      return { type: 'hosted', value: part.value }
    default:
      return part
  }
}

const ENDS: Readonly<Record<string, string>> = {
  end_turn: 'stop',
  tool_use: 'tool',
  max_tokens: 'length',
  refusal: 'refusal',
}

function agree(t: Test, name: string, result: TextResult, raw: JsonObject): void {
  const [{ parts, end } = { parts: [], end: undefined }] = result.candidates
  t.same(parts.map(seen), (raw.content as Record<string, Json>[]).map(expected), name)
  t.equal(end?.reason, ENDS[String(raw.stop_reason)], name)
  t.same([result.id, result.model], [raw.id, raw.model], name)
  const count = (key: string): number => Number((raw.usage as JsonObject)[key] ?? 0)
  const input = count('input_tokens') + count('cache_read_input_tokens') + count('cache_creation_input_tokens')
  t.match(result.usage, { input, output: count('output_tokens') }, name)
}

/** Without counts that an answer does not tell, which go to a client as 0. */
function known({ usage, ...rest }: TextResult): object {
  return { ...rest, usage: Object.fromEntries(Object.entries(usage ?? {}).filter(([, count]) => count > 0)) }
}

t.test('recorded answers say what their documents say, and go to a client unchanged', { skip }, async t => {
  t.ok(wholes.length > 100)
  for (const { name, result: raw } of wholes) {
    const result = messages.client.decodeResult(raw as Json)
    agree(t, name, result, raw as JsonObject)
    const answer = answerTo(requestOf())
    const body = plain(messages.server.encodeResult(result, answer))
    t.same(known(messages.client.decodeResult(body)), known(result), name)
    t.same(answer.lost, [], name)
  }
})

t.test('recorded streams say what they add up to, and go to a client unchanged', { skip }, async t => {
  t.ok(streams.length > 50)
  for (const exchange of streams) {
    const events = decodeAll(messages, exchange.frames)
    t.same(faultsOf(events), [], exchange.name)
    const result = fold(events)
    agree(t, exchange.name, result, gathered(exchange))
    const encoder = messages.server.encodeStream(answerTo(requestOf({ stream: true })))
    const frames = events.flatMap(event => encoder.push(event))
    const { parts, end } = fold(decodeAll(messages, frames)).candidates[0]!
    const visible = result.candidates[0]!.parts.filter(part => part.type !== 'text' || part.text !== '')
    t.same([parts, end], [visible, result.candidates[0]!.end], exchange.name)
  }
})

t.test('a stream that begins another answer is malformed', { skip }, async t => {
  const spliced = all.find(({ name }) => name.includes(SPLICED))
  t.match(decodeAll(messages, spliced?.frames ?? []).at(-1), {
    type: 'error',
    error: { code: 'bad_upstream_response' },
  })
})

t.test('recorded refusals have a message', { skip }, async t => {
  const refused = all.filter(({ status, result }) => status >= 400 && isObject(result))
  t.ok(refused.length > 3)
  for (const { status, result, name } of refused)
    t.type(messages.client.decodeError(status, result).message, 'string', name)
})

t.test('recorded requests go out as they would have come in, and are valid', { skip }, async t => {
  const asked = good.filter(({ request }) => request !== undefined)
  const check = openApi('messages-beta.request')
  let valid = 0
  for (const { name, request } of asked) {
    const read = (body: JsonObject): TextRequest =>
      messages.server.decodeRequest(body, { model: 'upstream-model', stream: request!.stream === true })
    const body = plain(messages.client.encodeRequest(read(request!), targetOf(messages))) as JsonObject
    t.same(plain(messages.client.encodeRequest(read(body), targetOf(messages))), body, name)
    // Some use tools and blocks that are newer than the document.
    if (check(request).length > 0) continue
    valid += 1
    t.same(check(body), [], name)
  }
  t.ok(valid > 200)
})
