import type { Media } from './conversation.js'

/** What a data URI or plain base64 holds, told from its length; nothing is decoded and nothing is fetched. */
export function mediaFrom(kind: Media['kind'], source: { uri?: string; base64?: string; type?: string }): Media {
  const { uri = '', base64, type } = source
  if (base64 !== undefined) return { kind, type, bytes: decodedLength(base64) }
  const comma = uri.indexOf(',')
  if (!uri.startsWith('data:') || comma < 0) return { kind, type, bytes: undefined }
  const [mime = ''] = uri.slice('data:'.length, comma).split(';', 1)
  return { kind, type: mime === '' ? type : mime, bytes: decodedLength(uri, comma + 1) }
}

function decodedLength(base64: string, from = 0): number {
  const padding = base64.endsWith('==') ? 2 : base64.endsWith('=') ? 1 : 0
  return Math.max(0, Math.floor(((base64.length - from - padding) * 3) / 4))
}
