import type { Target } from '../../core/codec.js'
import type { JsonObject } from '../../core/json.js'
import type { FileSource, MediaPart } from '../../core/text.js'
import { textOfBase64 } from './media-in.js'
import { refuse } from './names.js'

const IMAGES: ReadonlyMap<string, string> = new Map([
  ['image/jpg', 'image/jpeg'],
  ...['image/jpeg', 'image/png', 'image/gif', 'image/webp'].map(mime => [mime, mime] as const),
])

/** How bytes begin in base64, for media that came without a type. */
const BEGINNINGS: readonly (readonly [string, string])[] = [
  ['/9j/', 'image/jpeg'],
  ['iVBORw0KGgo', 'image/png'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi0', 'application/pdf'],
]

/** An `image` or a `document` block. Throws `untranslatable` for media that the service does not take. */
export function encodeMedia(part: MediaPart, target: Target): JsonObject {
  switch (part.kind) {
    case 'image':
      if (part.detail !== undefined && part.detail !== 'auto') target.lose('imageDetail', part.at)
      return { type: 'image', source: imageSource(part, target) }
    case 'document':
      return encodeDocument(part, target)
    default:
      target.lose('url' in part.source ? 'mediaUrl' : part.kind === 'audio' ? 'audioData' : 'videoData', part.at)
      throw refuse(part.at, `it does not accept ${part.kind}`)
  }
}

function imageSource(part: MediaPart, target: Target): JsonObject {
  const { source, at } = part
  if ('base64' in source) {
    const mime = mimeOf(part, source.base64)
    const media_type = IMAGES.get(mime)
    if (media_type === undefined) throw refuse(at, `images are JPEG, PNG, GIF or WebP, not ${mime || 'of no type'}`)
    return { type: 'base64', media_type, data: source.base64 }
  }
  if ('url' in source) return { type: 'url', url: source.url }
  if ('file' in source) return fileSource(source, at, target)
  throw refuse(at, 'an image has to be bytes, a URL or a file')
}

function encodeDocument(part: MediaPart, target: Target): JsonObject {
  return {
    type: 'document',
    source: documentSource(part, target),
    ...(part.name !== undefined && part.name !== '' && { title: part.name }),
    ...(part.context !== undefined && part.context !== '' && { context: part.context }),
    ...(part.cite === true && { citations: { enabled: true } }),
  }
}

function documentSource(part: MediaPart, target: Target): JsonObject {
  const { source, at } = part
  if ('text' in source) return textSource(source.text)
  if ('url' in source) return { type: 'url', url: source.url }
  if ('file' in source) return fileSource(source, at, target)
  const mime = mimeOf(part, source.base64)
  if (mime === 'application/pdf') return { type: 'base64', media_type: mime, data: source.base64 }
  if (isText(mime)) return textSource(textOfBase64(source.base64))
  throw refuse(at, `documents are PDF or text, not ${mime || 'of no type'}`)
}

function textSource(data: string): JsonObject {
  return { type: 'text', media_type: 'text/plain', data }
}

function fileSource({ file, of, why }: FileSource, at: string | undefined, target: Target): JsonObject {
  if (of === 'messages') return { type: 'file', file_id: file }
  target.lose('fileId', at, why)
  throw refuse(at, 'the file is at another upstream')
}

/** The type without parameters; guessed by how the bytes begin where none is given, or one that says nothing. */
function mimeOf({ mime }: MediaPart, base64: string): string {
  const said = mime?.split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (said !== '' && said !== 'application/octet-stream') return said
  return BEGINNINGS.find(([beginning]) => base64.startsWith(beginning))?.[1] ?? said
}

function isText(mime: string): boolean {
  return (
    mime.startsWith('text/') || /^application\/(?:json|xml|yaml|x-yaml|javascript|.{1,64}\+(?:json|xml))$/.test(mime)
  )
}
