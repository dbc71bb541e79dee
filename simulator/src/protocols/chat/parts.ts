import { DETAILS } from '../../families/choices.js'
import type { Fields } from '../../families/fields.js'
import { missing, notListed, wrongValue } from '../../families/refusals.js'
import type { Part } from '../../text/conversation.js'
import { mediaFrom } from '../../text/media.js'

const USER = ['text', 'image_url', 'input_audio', 'file'] as const
const ASSISTANT = ['text', 'refusal'] as const
const OTHERS = ['text'] as const

/** The content of a message: a string, or parts of the types that its role allows. */
export function contentParts(message: Fields, role: string): readonly Part[] {
  const content = message.raw('content')
  if (content === undefined) return []
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  const allowed: readonly string[] = role === 'user' ? USER : role === 'assistant' ? ASSISTANT : OTHERS
  return (message.list('content') ?? []).map(part => contentPart(part, allowed))
}

function contentPart(part: Fields, allowed: readonly string[]): Part {
  const type = part.need('type', part.string)
  if (!allowed.includes(type)) throw notListed(part.param('type'), type, allowed)
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
  const format = audio.oneOf('format', ['wav', 'mp3'])
  if (format === undefined) throw missing(audio.param('format'))
  const base64 = audio.need('data', audio.string)
  return { type: 'media', media: mediaFrom('audio', { base64, type: `audio/${format}` }) }
}

function file(part: Fields): Part {
  const file = part.need('file', part.fields)
  const uri = file.string('file_data') ?? file.need('file_id', file.string)
  return { type: 'media', media: mediaFrom('file', { uri }) }
}

/** A link to an image, or the image itself as a data URI; neither is fetched or decoded. */
export function link(fields: Fields, name: string): string {
  const uri = fields.need(name, fields.string)
  if (/^(data:|https?:\/\/)/i.test(uri)) return uri
  throw wrongValue(fields.param(name), `Invalid '${fields.param(name)}': expected a URL or a data URI.`)
}
