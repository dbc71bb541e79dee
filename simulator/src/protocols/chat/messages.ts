import { SimulatorError } from '../../errors.js'
import { isNowhere } from '../../families/addresses.js'
import type { Fields } from '../../families/fields.js'
import { DETAILS } from '../../families/options.js'
import { emptyArray, wrongValue } from '../../families/refusals.js'
import { mediaFrom, type Part, type Turn, textOf } from '../../text/conversation.js'

const ROLES = ['developer', 'system', 'user', 'assistant', 'tool', 'function'] as const

/** The turns that a body's `messages` hold. Throws where one is malformed, or a tool call has no answer. */
export function readMessages(body: Fields): readonly Turn[] {
  const messages = body.need('messages', body.list)
  if (messages.length === 0) throw emptyArray('messages')
  const turns = messages.map(turn)
  checkCalls(turns)
  return turns
}

function turn(message: Fields): Turn {
  const role = message.needOneOf('role', ROLES)
  const parts = contentParts(message, role)
  switch (role) {
    case 'developer':
    case 'system':
      return { role: 'system', parts: needed(message, parts) }
    case 'user':
      return { role, parts: needed(message, parts) }
    case 'assistant':
      return { role, parts: [...parts, ...calls(message)] }
    case 'tool':
      return result(message.need('tool_call_id', message.string), parts)
    case 'function':
      return result(message.need('name', message.string), parts)
  }
}

function needed(message: Fields, parts: readonly Part[]): readonly Part[] {
  message.need('content', message.raw)
  return parts
}

function result(id: string, parts: readonly Part[]): Turn {
  return { role: 'tool', parts: [{ type: 'result', id, text: textOf(parts) }] }
}

function calls(message: Fields): readonly Part[] {
  const legacy = message.fields('function_call')
  const modern = (message.list('tool_calls') ?? []).map(call)
  return legacy === undefined ? modern : [...modern, named(legacy, legacy.need('name', legacy.string), 'arguments')]
}

function call(call: Fields): Part {
  const id = call.need('id', call.string)
  const custom = call.fields('custom')
  return custom === undefined ? named(call.need('function', call.fields), id, 'arguments') : named(custom, id, 'input')
}

function named(fields: Fields, id: string, text: 'arguments' | 'input'): Part {
  return { type: 'call', id, name: fields.need('name', fields.string), arguments: fields.string(text) ?? '' }
}

/** Every call must be answered before the next message, and only calls may be answered. */
function checkCalls(turns: readonly Turn[]): void {
  let open = new Set<string>()
  turns.forEach(({ role, parts }, index) => {
    if (role !== 'tool' && open.size > 0) throw unanswered(open, index)
    if (role === 'assistant') open = new Set(parts.flatMap(part => (part.type === 'call' ? [part.id] : [])))
    for (const part of parts) if (part.type === 'result' && !open.delete(part.id)) throw unasked(index)
  })
  if (open.size > 0) throw unanswered(open, turns.length - 1)
}

function unanswered(open: ReadonlySet<string>, index: number): SimulatorError {
  const message =
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
    `The following tool_call_ids did not have response messages: ${[...open].join(', ')}`
  return new SimulatorError(400, message, { param: `messages[${index}].role` })
}

function unasked(index: number): SimulatorError {
  const message = "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'."
  return new SimulatorError(400, `Invalid parameter: ${message}`, { param: `messages[${index}].role` })
}

const USER = ['text', 'image_url', 'input_audio', 'file'] as const
const ASSISTANT = ['text', 'refusal'] as const
const OTHERS = ['text'] as const

/** The content of a message: a string, or parts of the types that its role allows. */
function contentParts(message: Fields, role: string): readonly Part[] {
  const content = message.raw('content')
  if (content === undefined) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  const allowed: readonly string[] = role === 'user' ? USER : role === 'assistant' ? ASSISTANT : OTHERS
  return (message.list('content') ?? []).map(part => contentPart(part, allowed))
}

function contentPart(part: Fields, allowed: readonly string[]): Part {
  const type = part.needOneOf('type', allowed)
  switch (type) {
    case 'image_url':
      return image(part)
    case 'input_audio':
      return audio(part)
    case 'file':
      return file(part)
    default:
      return { type: 'text', text: part.need(type, part.string) }
  }
}

function image(part: Fields): Part {
  const image = part.need('image_url', part.fields)
  image.oneOf('detail', DETAILS)
  return { type: 'media', media: mediaFrom('image', { uri: link(image, 'url') }) }
}

function audio(part: Fields): Part {
  const audio = part.need('input_audio', part.fields)
  const format = audio.needOneOf('format', ['wav', 'mp3'])
  const base64 = audio.need('data', audio.string)
  return { type: 'media', media: mediaFrom('audio', { base64, type: `audio/${format}` }) }
}

function file(part: Fields): Part {
  const file = part.need('file', part.fields)
  const uri = file.string('file_data') ?? file.need('file_id', file.string)
  return { type: 'media', media: mediaFrom('file', { uri }) }
}

/** A link to an image, or the image itself as a data URI; neither is fetched or decoded. */
function link(fields: Fields, name: string): string {
  const uri = fields.need(name, fields.string)
  if (isNowhere(uri)) throw wrongValue(fields.param(name), `Error while downloading ${uri.slice(0, 200)}.`)
  if (/^(data:|https?:\/\/)/i.test(uri)) return uri
  throw wrongValue(fields.param(name), `Invalid '${fields.param(name)}': expected a URL or a data URI.`)
}
