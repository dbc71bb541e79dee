import type { Target } from '../../core/codec.js'
import type { Field } from '../../core/fields.js'
import type { JsonObject } from '../../core/json.js'
import type { Left, MediaPart } from '../../core/text.js'
import { dataUrl, kindOfMime, mimeOfAudio, parseDataUrl, sourceOfUrl, urlOf } from '../media.js'

import { compact, given, invalid, type Reader } from '../read.js'

import { PROTOCOL } from './fields.js'

type MediaType = 'input_image' | 'input_file' | 'input_audio' | 'input_video'

/** `input_image`, `input_file`, `input_audio`, `input_video` of a message or a result. */
export function readMedia(part: Reader, type: MediaType, left: Left[]): MediaPart {
  switch (type) {
    case 'input_image':
      return readImage(part)
    case 'input_file':
      return readFile(part, left)
    case 'input_audio':
      return readAudio(part)
    case 'input_video':
      return { type: 'media', kind: 'video', at: part.at, ...sourceOfUrl(part.required('video_url')) }
  }
}

function readImage(part: Reader): MediaPart {
  const detail = part.string('detail')
  const rest = { at: part.at, ...given({ detail: detail === 'auto' ? undefined : detail }) }
  const url = part.string('image_url')
  if (url !== undefined) return { type: 'media', kind: 'image', ...sourceOfUrl(url), ...rest }
  return { type: 'media', kind: 'image', source: { file: fileOf(part, 'image_url'), of: PROTOCOL }, ...rest }
}

function fileOf(part: Reader, instead: string): string {
  const id = part.string('file_id')
  if (id === undefined) throw invalid(part.at, `expected '${instead}' or 'file_id'`)
  return id
}

function readFile(part: Reader, left: Left[]): MediaPart {
  const rest = { at: part.at, ...given({ name: part.string('filename') }) }
  if (part.has('detail')) left.push({ field: part.path('detail'), why: 'other protocols have no detail of files' })
  const url = part.string('file_url')
  if (url !== undefined) return { type: 'media', kind: 'document', ...sourceOfUrl(url), ...rest }
  const data = part.string('file_data')
  if (data === undefined) {
    return { type: 'media', kind: 'document', source: { file: fileOf(part, 'file_data'), of: PROTOCOL }, ...rest }
  }
  const inline = parseDataUrl(data)
  const mime = inline?.mime || 'application/pdf'
  return { type: 'media', kind: kindOfMime(mime), mime, source: { base64: inline?.base64 ?? data }, ...rest }
}

function readAudio(part: Reader): MediaPart {
  const audio = part.object('input_audio') ?? part
  const mime = mimeOfAudio(audio.string('format')?.toLowerCase() ?? 'wav')
  return { type: 'media', kind: 'audio', mime, source: { base64: audio.required('data') }, at: part.at }
}

/** A media part of a message or a result; undefined where it has been lost aloud. */
export function writeMedia(part: MediaPart, target: Target): JsonObject | undefined {
  const { source, kind, name } = part
  if ('file' in source) {
    if (source.of !== PROTOCOL || source.why !== undefined) return lost('fileId', part, target, source.why)
    const type = kind === 'image' ? 'input_image' : 'input_file'
    return compact({ type, file_id: source.file, detail: kind === 'image' ? (part.detail ?? 'auto') : undefined })
  }
  if (part.context !== undefined) target.lose('documentContext', part.at)
  if (part.cite === true) target.lose('cite', part.at)
  switch (kind) {
    case 'image':
      return { type: 'input_image', image_url: urlOf(part, 'image/png') ?? '', detail: detailOf(part) }
    case 'audio':
      return lost('url' in source ? 'mediaUrl' : 'audioData', part, target)
    case 'video':
      return lost('url' in source ? 'mediaUrl' : 'videoData', part, target)
    case 'document': {
      if ('url' in source) return compact({ type: 'input_file', file_url: source.url, filename: name })
      if ('text' in source) {
        target.lose('documentText', part.at)
        return { type: 'input_text', text: [name, source.text].filter(text => text !== undefined).join('\n\n') }
      }
      const mime = part.mime ?? 'application/pdf'
      return { type: 'input_file', filename: name ?? fileName(mime), file_data: dataUrl(mime, source.base64) }
    }
  }
}

function lost(field: Field, part: MediaPart, target: Target, why?: string): undefined {
  target.lose(field, part.at, why)
  return undefined
}

const DETAILS = new Set(['low', 'high', 'auto', 'original'])

function detailOf({ detail }: MediaPart): string {
  return detail !== undefined && DETAILS.has(detail) ? detail : 'auto'
}

/** A file has to have a name, whose ending says what it is. */
function fileName(mime: string): string {
  return `document.${mime === 'text/plain' ? 'txt' : (mime.split('/')[1]?.replace(/[^a-z0-9]+/g, '') ?? 'bin')}`
}
