/** Media types that are recognized by their first bytes, and the names that servers use for them. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  'image/jpeg': ['image/jpg', 'image/pjpeg'],
  'image/png': ['image/x-png'],
  'image/gif': [],
  'image/webp': [],
  'application/pdf': ['application/x-pdf'],
  'audio/wav': ['audio/wave', 'audio/x-wav', 'audio/vnd.wave'],
  'audio/mpeg': ['audio/mp3', 'audio/x-mpeg', 'audio/mpeg3'],
}

export const MEDIA_TYPES: readonly string[] = Object.keys(NAMES)

/** Number of first bytes that recognition needs. */
export const HEAD_BYTES = 12

/** The type by its one name; `''` for no type or one that says nothing; undefined for any other. */
export function mediaTypeOf(contentType: string | undefined): string | undefined {
  const essence = (contentType ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
  if (['', 'application/octet-stream', 'binary/octet-stream'].includes(essence)) return ''
  return MEDIA_TYPES.find(type => type === essence || NAMES[type]?.includes(essence))
}

/** What the bytes are, by how they begin; undefined where that is not one of {@link MEDIA_TYPES}. */
export function sniff(bytes: Uint8Array): string | undefined {
  const head = Buffer.from(bytes.subarray(0, HEAD_BYTES)).toString('latin1')
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif'
  if (head.startsWith('%PDF-')) return 'application/pdf'
  if (head.startsWith('RIFF')) return { WEBP: 'image/webp', WAVE: 'audio/wav' }[head.slice(8, 12)]
  return head.startsWith('ID3') || isMpegAudio(bytes) ? 'audio/mpeg' : undefined
}

/** The head of an MPEG audio frame: sync, and no reserved version, layer, bit rate or sampling rate (ISO 11172-3, 2.4.1.3). */
function isMpegAudio([a = 0, b = 0, c = 0]: Uint8Array): boolean {
  const version = (b >> 3) & 3
  const layer = (b >> 1) & 3
  return (
    a === 0xff && b >> 5 === 7 && version !== 1 && layer !== 0 && c >> 4 !== 15 && c >> 4 !== 0 && ((c >> 2) & 3) !== 3
  )
}
