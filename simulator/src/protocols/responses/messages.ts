import type { Fields } from '../../families/fields.js'
import { DETAILS } from '../../families/options.js'
import { type Media, mediaFrom, type Part, type ResultPart, type Turn, textOf } from '../../text/conversation.js'

const ROLES = ['user', 'assistant', 'system', 'developer'] as const
const TYPES = ['input_text', 'input_image', 'input_audio', 'input_file', 'output_text', 'refusal'] as const

/** A message item, typed or plain. */
export function readMessage(item: Fields): Turn {
  const role = item.needOneOf('role', ROLES)
  item.need('content', item.raw)
  return { role: role === 'developer' ? 'system' : role, parts: parts(item, 'content') }
}

/** What a tool gave back: a string, or parts. */
export function output(item: Fields): ResultPart {
  const id = item.need('call_id', item.string)
  item.need('output', item.raw)
  const given = parts(item, 'output')
  const media = given.flatMap(part => (part.type === 'media' ? [part.media] : []))
  return { type: 'result', id, text: textOf(given), media }
}

function parts(item: Fields, name: string): readonly Part[] {
  const content = item.raw(name)
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return (item.list(name) ?? []).map(part)
}

function part(part: Fields): Part {
  const type = part.needOneOf('type', TYPES)
  switch (type) {
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part.need('text', part.string) }
    case 'refusal':
      return { type: 'text', text: part.need('refusal', part.string) }
    case 'input_image':
      part.oneOf('detail', DETAILS)
      return media('image', part.string('image_url') ?? part.need('file_id', part.string))
    case 'input_file':
      return file(part)
    case 'input_audio':
      return audio(part.need('input_audio', part.fields))
  }
}

function media(kind: Media['kind'], uri: string): Part {
  return { type: 'media', media: mediaFrom(kind, { uri }) }
}

/** A file that comes as it is needs a name. */
function file(part: Fields): Part {
  const data = part.string('file_data')
  if (data !== undefined) part.need('filename', part.string)
  return media('file', data ?? part.string('file_url') ?? part.need('file_id', part.string))
}

function audio(audio: Fields): Part {
  const base64 = audio.need('data', audio.string)
  return { type: 'media', media: mediaFrom('audio', { base64, type: `audio/${audio.string('format') ?? 'wav'}` }) }
}
