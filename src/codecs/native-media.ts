import { Buffer } from 'node:buffer'
import type { Json, JsonObject } from '../core/json.js'
import type { MediaKind, MediaPart } from '../core/text.js'
import { kindOfMime } from './media.js'

/** Files are known by the name of the protocol of texts, in requests for embeddings too. */
const OWNER = 'generate'

/** `inlineData`: bytes. Clients of this protocol also write base64 in the URL-safe alphabet, which others refuse. */
export function inlineMedia(data: string, mime: string | undefined): MediaPart {
  const base64 = data.includes('-') || data.includes('_') ? standard(data) : data
  return { type: 'media', kind: kindOfMime(mime ?? ''), ...(mime !== undefined && { mime }), source: { base64 } }
}

function standard(urlSafe: string): string {
  const base64 = urlSafe.replaceAll('-', '+').replaceAll('_', '/')
  return base64.padEnd(Math.ceil(base64.length / 4) * 4, '=')
}

/** `fileData`: an address that anyone may fetch, or a file that only the upstream has. */
export function fileMedia(uri: string, mime: string | undefined): MediaPart {
  const kind = mime === undefined ? kindOfName(uri) : kindOfMime(mime)
  const source = isPublic(uri) ? { url: uri } : { file: uri, of: OWNER }
  return { type: 'media', kind, ...(mime !== undefined && { mime }), source }
}

/** Files that were uploaded to an upstream have addresses too, but only their owner can read them. */
function isPublic(uri: string): boolean {
  return /^https?:/i.test(uri) && !/^https?:\/\/[^/]+\/v\d[a-z0-9]*\/files\/[^/]+$/i.test(uri)
}

const EXTENSIONS: Readonly<Record<string, MediaKind>> = {
  ...{ png: 'image', jpg: 'image', jpeg: 'image', gif: 'image', webp: 'image', heic: 'image' },
  ...{ mp3: 'audio', wav: 'audio', flac: 'audio', ogg: 'audio', m4a: 'audio' },
  ...{ mp4: 'video', mov: 'video', webm: 'video', mpeg: 'video' },
}

function kindOfName(uri: string): MediaKind {
  const extension = /\.([a-z0-9]{3,4})(?:[?#]|$)/i.exec(uri.slice(-512))?.[1]?.toLowerCase() ?? ''
  return (Object.hasOwn(EXTENSIONS, extension) ? EXTENSIONS[extension] : undefined) ?? 'document'
}

/** The data of a part: `inlineData` or `fileData`. Undefined for a file of another protocol. */
export function mediaData(part: MediaPart): Record<string, Json> | undefined {
  const { source, mime } = part
  if ('base64' in source) return { inlineData: blob(mime ?? sniffed(part.kind, source.base64), source.base64) }
  if ('text' in source) {
    return { inlineData: blob(mime ?? 'text/plain', Buffer.from(source.text, 'utf8').toString('base64')) }
  }
  if ('file' in source && source.of !== OWNER) return undefined
  const fileUri = 'url' in source ? source.url : source.file
  return { fileData: { fileUri, ...(mime !== undefined && { mimeType: mime }) } }
}

function blob(mimeType: string, data: string): JsonObject {
  return { mimeType, data }
}

/** How base64 of common files begins. */
const MAGIC: readonly (readonly [string, string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi', 'application/pdf'],
  ['SUQz', 'audio/mpeg'],
]

/** Where the client gave no type and the upstream wants one: the first bytes tell it. */
export function sniffed(kind: MediaKind, base64: string): string {
  if (kind === 'audio' && base64.startsWith('UklGR')) return 'audio/wav'
  return MAGIC.find(([head]) => base64.startsWith(head))?.[1] ?? 'application/octet-stream'
}
