import type { MediaKind } from '../../core/text.js'

/** Formats of the protocol, and the media type of each. Where several have one type, the first is written. */
const FORMATS: Readonly<Record<MediaKind, readonly (readonly [format: string, mime: string])[]>> = {
  image: [
    ['png', 'image/png'],
    ['jpeg', 'image/jpeg'],
    ['jpeg', 'image/jpg'],
    ['gif', 'image/gif'],
    ['webp', 'image/webp'],
  ],
  document: [
    ['pdf', 'application/pdf'],
    ['txt', 'text/plain'],
    ['md', 'text/markdown'],
    ['csv', 'text/csv'],
    ['html', 'text/html'],
    ['doc', 'application/msword'],
    ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['xls', 'application/vnd.ms-excel'],
    ['xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
  ],
  video: [
    ['mp4', 'video/mp4'],
    ['mov', 'video/quicktime'],
    ['mkv', 'video/x-matroska'],
    ['webm', 'video/webm'],
    ['mpeg', 'video/mpeg'],
    ['mpg', 'video/mpg'],
    ['flv', 'video/x-flv'],
    ['wmv', 'video/x-ms-wmv'],
    ['three_gp', 'video/3gpp'],
  ],
  audio: [
    ['wav', 'audio/wav'],
    ['wav', 'audio/x-wav'],
    ['mp3', 'audio/mpeg'],
    ['mp3', 'audio/mp3'],
    ['m4a', 'audio/mp4'],
    ['flac', 'audio/flac'],
    ['ogg', 'audio/ogg'],
    ['opus', 'audio/opus'],
    ['aac', 'audio/aac'],
    ['webm', 'audio/webm'],
    ['pcm', 'audio/pcm'],
  ],
}

/** `image/png` → `png`; undefined for what the protocol does not take. */
export function formatOf(kind: MediaKind, mime: string): string | undefined {
  const bare = mime.split(';', 1)[0]?.trim().toLowerCase()
  return FORMATS[kind].find(([, known]) => known === bare)?.[0]
}

/** `png` → `image/png`. */
export function mimeOf(kind: MediaKind, format: string | undefined): string | undefined {
  return FORMATS[kind].find(([known]) => known === format)?.[1]
}

/** `png, jpeg, gif, webp`. */
export function formatsOf(kind: MediaKind): string {
  return [...new Set(FORMATS[kind].map(([format]) => format))].join(', ')
}

/** How bytes begin in base64, for media that came without a type. */
const BEGINNINGS: readonly (readonly [string, string])[] = [
  ['/9j/', 'image/jpeg'],
  ['iVBORw0KGgo', 'image/png'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi0', 'application/pdf'],
]

/** The type of bytes: as it is said, or as they begin. */
export function typeOf(kind: MediaKind, mime: string | undefined, base64: string): string {
  if (mime !== undefined && mime !== '' && mime !== 'application/octet-stream') return mime
  const begun = BEGINNINGS.find(([beginning]) => base64.startsWith(beginning))?.[1] ?? ''
  return begun.startsWith('image/') === (kind === 'image') ? begun : ''
}
