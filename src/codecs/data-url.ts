import type { MediaKind, MediaPart, MediaSource } from '../core/text.js'

/** `data:image/png;base64,…`, with or without parameters between; RFC 2397. */
const HEAD = /^data:([^;,\s]*)((?:;[^;,\s]*)*),/

/** Media type (lower case, `''` where it is left out) and base64 of a `data:` URL; undefined where it is not one. */
export function parseDataUrl(url: string): { readonly mime: string; readonly base64: string } | undefined {
  const head = HEAD.exec(url.slice(0, 512))
  if (head === null) return undefined
  const [all, type = '', parameters = ''] = head
  const rest = url.slice(all.length)
  const mime = type.toLowerCase()
  if (parameters.toLowerCase().endsWith(';base64')) return { mime, base64: rest }
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
