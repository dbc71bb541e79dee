import { isObject, type Json } from '../../core/json.js'
import type { CacheMark, Left, MediaPart, Part, TextPart } from '../../core/text.js'
import { kindOfMime, mimeOfAudio, parseDataUrl, sourceOfUrl } from '../media.js'

import { invalid, leaveOthers, Reader } from '../read.js'

import { MEMBER_SEALS } from './reasoning.js'

/** `content` of a message: a string, an array of parts, null or absent. */
export function readContent(message: Reader, left: Left[]): Part[] {
  const content = message.raw('content')
  if (content === undefined) return []
  const at = message.path('content')
  if (typeof content === 'string') return [{ type: 'text', text: content, at }]
  if (!Array.isArray(content)) throw invalid(at, 'expected a string or an array of parts')
  return content.map((part: Json, i) => readPart(part, `${at}[${i}]`, left))
}

function readPart(value: Json, at: string, left: Left[]): Part {
  if (typeof value === 'string') return { type: 'text', text: value, at }
  if (!isObject(value)) throw invalid(at, 'expected an object')
  const reader = new Reader(value, at)
  leaveOthers(reader, PART_MEMBERS, left)
  const cache = readCacheMark(reader)
  return { ...readKind(reader, left), at, ...(cache !== undefined && { cache }) }
}

const PART_MEMBERS = new Set([
  ...['type', 'text', 'image_url', 'input_audio', 'video_url', 'file', 'document_url', 'document_name', 'refusal'],
  ...['thinking', 'closed', 'cache_control', 'prompt_cache_breakpoint'],
])

function readKind(part: Reader, left: Left[]): Part {
  const type = part.required('type')
  switch (type) {
    case 'text':
    case 'input_text':
    case 'output_text':
      return { type: 'text', text: part.required('text') }
    case 'refusal':
      return { type: 'refusal', text: part.required('refusal') }
    case 'image_url':
      return readImage(part)
    case 'input_audio':
      return readAudio(part)
    case 'video_url':
      return { type: 'media', kind: 'video', ...sourceOfUrl(readUrl(part, 'video_url')) }
    case 'file':
      return readFile(part, left)
    case 'document_url':
      return { ...mediaOf(readUrl(part, 'document_url'), 'application/pdf'), ...nameOf(part.string('document_name')) }
    case 'thinking':
      return { type: 'reasoning', text: thoughtsOf(part.raw('thinking')), seal: MEMBER_SEALS.thinking }
    default:
      throw invalid(part.path('type'), `no part of a message has the type '${type.slice(0, 60)}'`)
  }
}

/** The text of a `thinking` part: a string, or an array of text parts. */
export function thoughtsOf(thinking: Json | undefined): string {
  if (typeof thinking === 'string') return thinking
  if (!Array.isArray(thinking)) return ''
  return thinking.map((one: Json) => (isObject(one) && typeof one.text === 'string' ? one.text : '')).join('')
}

/** `{url}`, or the URL itself. */
function readUrl(part: Reader, name: string): string {
  const value = part.raw(name)
  if (typeof value === 'string') return value
  const object = part.object(name)
  if (object === undefined) throw invalid(part.path(name), 'it is required')
  return object.required('url')
}

function readImage(part: Reader): MediaPart {
  const detail = isObject(part.raw('image_url')) ? part.object('image_url')?.string('detail') : undefined
  const image = sourceOfUrl(readUrl(part, 'image_url'))
  return { type: 'media', kind: 'image', ...image, ...(detail !== undefined && { detail }) }
}

function readAudio(part: Reader): MediaPart {
  const audio = part.object('input_audio')
  if (audio === undefined) throw invalid(part.path('input_audio'), 'it is required')
  const data = audio.required('data')
  const inline = parseDataUrl(data)
  const format = audio.string('format')?.toLowerCase()
  const mime = format === undefined ? inline?.mime : mimeOfAudio(format)
  const base64 = inline?.base64 ?? data
  return { type: 'media', kind: 'audio', source: { base64 }, ...(mime !== undefined && { mime }) }
}

/** `{file_data}` as a `data:` URL, bare base64 or an address, or `{file_id}`; `filename` beside it. */
function readFile(part: Reader, left: Left[]): MediaPart {
  const file = part.object('file')
  if (file === undefined) throw invalid(part.path('file'), 'it is required')
  leaveOthers(file, new Set(['file_data', 'file_id', 'filename']), left)
  const name = file.string('filename')
  const data = file.string('file_data')
  if (data !== undefined) return { ...mediaOf(data, mimeOfName(name)), ...nameOf(name) }
  const id = file.string('file_id')
  if (id === undefined) throw invalid(file.at, "expected 'file_data' or 'file_id'")
  return { type: 'media', kind: 'document', source: { file: id, of: 'chat' }, ...nameOf(name) }
}

function nameOf(name: string | undefined): { readonly name?: string } {
  return name === undefined ? {} : { name }
}

function mediaOf(data: string, fallbackMime: string): MediaPart {
  if (/^https?:/i.test(data)) return { type: 'media', kind: 'document', source: { url: data } }
  const inline = parseDataUrl(data)
  const mime = inline?.mime || fallbackMime
  return { type: 'media', kind: kindOfMime(mime), mime, source: { base64: inline?.base64 ?? data } }
}

const MIMES: Readonly<Record<string, string>> = {
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  json: 'application/json',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  webp: 'image/webp',
  gif: 'image/gif',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  mp4: 'video/mp4',
}

/** Files without a media type of their own are PDF, as the protocol's reference has it, unless their name tells better. */
function mimeOfName(name: string | undefined): string {
  const extension = name?.slice(name.lastIndexOf('.') + 1).toLowerCase() ?? ''
  return Object.hasOwn(MIMES, extension) ? (MIMES[extension] ?? 'application/pdf') : 'application/pdf'
}

/** `cache_control: {type: ephemeral, ttl?}`, or `prompt_cache_breakpoint: {mode: explicit}`. */
export function readCacheMark(reader: Reader): CacheMark | undefined {
  if (isObject(reader.raw('prompt_cache_breakpoint'))) return {}
  const control = reader.raw('cache_control')
  if (!isObject(control)) return undefined
  return control.ttl === '5m' || control.ttl === '1h' ? { ttl: control.ttl } : {}
}

/** Returns the parts, which must all be text. */
export function onlyText(parts: readonly Part[]): TextPart[] {
  return parts.map(part => {
    if (part.type === 'text') return part
    throw invalid(part.at ?? 'messages', 'instructions can only be text')
  })
}
