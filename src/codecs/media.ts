import type { Traits } from '../core/codec.js'
import type { MediaKind, MediaPart, MediaSource } from '../core/text.js'

/** `data:image/png;base64,…`, with or without parameters between, and blanks around them; RFC 2397. */
const HEAD = /^data:([^;,\s]*)[ \t]*((?:;[^;,]*)*),/

/** Media type (lower case, `''` where it is left out) and base64 of a `data:` URL; undefined where it is not one. */
export function parseDataUrl(url: string): { readonly mime: string; readonly base64: string } | undefined {
  const head = HEAD.exec(url.slice(0, 512))
  if (head === null) return undefined
  const [all, type = '', parameters = ''] = head
  const rest = url.slice(all.length)
  const mime = type.toLowerCase()
  if (/;[ \t]*base64[ \t]*$/i.test(parameters)) return { mime, base64: rest }
  try {
    return { mime, base64: Buffer.from(decodeURIComponent(rest), 'utf8').toString('base64') }
  } catch {
    return undefined
  }
}

/** Bytes as a `data:` URL. */
export function dataUrl(mime: string, base64: string): string {
  return `data:${mime};base64,${base64}`
}

/** What a URL in a client's body stands for: bytes that it holds itself, or an address. */
export function sourceOfUrl(url: string): { readonly mime?: string; readonly source: MediaSource } {
  const data = parseDataUrl(url)
  if (data === undefined) return { source: { url } }
  return data.mime === '' ? { source: { base64: data.base64 } } : { mime: data.mime, source: { base64: data.base64 } }
}

export function kindOfMime(mime: string): MediaKind {
  const [top] = mime.split('/', 1)
  return top === 'image' || top === 'audio' || top === 'video' ? top : 'document'
}

/** A media part as one URL: its address, or its bytes as a `data:` URL. Undefined for files and plain text. */
export function urlOf(part: MediaPart, fallbackMime = 'application/octet-stream'): string | undefined {
  if ('url' in part.source) return part.source.url
  return 'base64' in part.source ? dataUrl(part.mime ?? fallbackMime, part.source.base64) : undefined
}

const MIMES: Readonly<Record<string, string>> = { mp3: 'audio/mpeg', m4a: 'audio/mp4', pcm16: 'audio/pcm' }

/** `mp3` → `audio/mpeg`: formats as the compatible protocols call them. */
export function mimeOfAudio(format: string): string {
  return Object.hasOwn(MIMES, format) ? (MIMES[format] ?? format) : `audio/${format}`
}

const FORMATS: Readonly<Record<string, string>> = {
  'audio/wav': 'wav',
  'audio/x-wav': 'wav',
  'audio/wave': 'wav',
  'audio/vnd.wave': 'wav',
  'audio/mpeg': 'mp3',
  'audio/mp3': 'mp3',
  'audio/mp4': 'm4a',
  'audio/pcm': 'pcm16',
}

/** `audio/mpeg` → `mp3`. */
export function formatOfAudio(mime: string): string {
  const name = mime.toLowerCase()
  const format = Object.hasOwn(FORMATS, name) ? FORMATS[name] : name.slice(name.indexOf('/') + 1)
  return format ?? 'wav'
}

/** Whether an upstream fetches the URL of this part itself. `usual`: what upstreams of its protocol do. */
export function isFetched({ source }: MediaPart, { fetches_urls: declared }: Traits, usual: boolean): boolean {
  if (declared !== 'https') return declared ?? usual
  return 'url' in source && /^https:/i.test(source.url)
}
