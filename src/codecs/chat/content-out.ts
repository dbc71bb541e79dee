import type { Target } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { FileSource, MediaPart, Part } from '../../core/text.js'
import { dataUrl, formatOfAudio, urlOf } from '../media.js'

import { PROTOCOL } from './reasoning.js'

/** Text and media as `content`: a string where it is one text, else an array of parts. */
export function writeContent(parts: readonly Part[], target: Target): string | readonly JsonObject[] {
  const written = parts.flatMap(part => writePart(part, target))
  return asContent(written)
}

/** One text alone is a string, which the most servers take; empty texts beside others say nothing. */
export function asContent(parts: readonly JsonObject[]): string | readonly JsonObject[] {
  const said = parts.length > 1 ? parts.filter(part => part.type !== 'text' || part.text !== '') : parts
  const [first] = said
  if (first === undefined) return ''
  return said.length === 1 && first.type === 'text' && typeof first.text === 'string' ? first.text : said
}

function writePart(part: Part, target: Target): readonly JsonObject[] {
  if (part.cache !== undefined) target.lose('cacheMarks', part.at)
  switch (part.type) {
    case 'text':
      return [{ type: 'text', text: part.text }]
    case 'media':
      return writeMedia(part, target)
    case 'refusal':
      return [{ type: 'text', text: part.text }]
    case 'hosted':
      target.lose('hostedParts', part.at)
      return []
    default:
      return []
  }
}

/** Media in a message of the user. */
export function writeMedia(part: MediaPart, target: Target): readonly JsonObject[] {
  const { source } = part
  if (part.cite === true) target.lose('cite', part.at)
  if ('text' in source) return writeTextDocument(part, source.text, target)
  if ('file' in source) return writeFileId(part, source, target)
  switch (part.kind) {
    case 'image':
      return [{ type: 'image_url', image_url: imageOf(part) }]
    case 'audio':
      return writeAudio(part, target)
    case 'video':
      target.lose('url' in source ? 'mediaUrl' : 'videoData', part.at)
      return []
    case 'document':
      return writeDocument(part, target)
  }
}

function imageOf(part: MediaPart): JsonObject {
  const detail = part.detail === undefined ? {} : { detail: part.detail }
  return { url: urlOf(part, 'image/png') ?? '', ...detail }
}

function writeAudio(part: MediaPart, target: Target): readonly JsonObject[] {
  if (!('base64' in part.source)) {
    target.lose('mediaUrl', part.at)
    return []
  }
  const format = formatOfAudio(part.mime ?? 'audio/wav')
  return [{ type: 'input_audio', input_audio: { data: part.source.base64, format } }]
}

function writeDocument(part: MediaPart, target: Target): readonly JsonObject[] {
  if (!('base64' in part.source)) {
    target.lose('documentUrl', part.at)
    return []
  }
  const mime = part.mime ?? 'application/pdf'
  // Servers refuse bytes without a name.
  const filename = part.name ?? (mime === 'application/pdf' ? 'document.pdf' : 'document')
  const file = { type: 'file', file: { filename, file_data: dataUrl(mime, part.source.base64) } }
  return [...writeContext(part, target), file]
}

function writeContext(part: MediaPart, target: Target): readonly JsonObject[] {
  if (part.context === undefined) return []
  target.lose('documentContext', part.at)
  return [{ type: 'text', text: part.context }]
}

function writeTextDocument(part: MediaPart, text: string, target: Target): readonly JsonObject[] {
  target.lose('documentText', part.at)
  return [
    ...writeContext(part, target),
    { type: 'text', text: part.name === undefined ? text : `${part.name}\n\n${text}` },
  ]
}

function writeFileId(part: MediaPart, source: FileSource, target: Target): readonly JsonObject[] {
  if (source.of !== PROTOCOL || source.why !== undefined) {
    target.lose('fileId', part.at, source.why)
    return []
  }
  const filename = part.name === undefined ? {} : { filename: part.name }
  return [{ type: 'file', file: { file_id: source.file, ...filename } }]
}
