import { createHash } from 'node:crypto'

/** What is known of a picture without decoding it. */
export interface Measured {
  readonly format: 'png' | 'jpeg' | 'webp'
  readonly width: number
  readonly height: number
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
/** Where the first chunk of a PNG file has its type, and the picture's sides. */
const IHDR_AT = 12
const SIDES_AT = 16

/** The format and size of a PNG, JPEG or WebP file; `undefined` where the bytes are none. Never throws. */
export function measure(file: Buffer): Measured | undefined {
  const size = pngSize(file) ?? jpegSize(file) ?? webpSize(file)
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined
}

function pngSize(file: Buffer): Measured | undefined {
  if (!file.subarray(0, PNG.length).equals(PNG) || file.length < SIDES_AT + 8) return undefined
  if (file.toString('latin1', IHDR_AT, IHDR_AT + 4) !== 'IHDR') return undefined
  return { format: 'png', width: file.readUInt32BE(SIDES_AT), height: file.readUInt32BE(SIDES_AT + 4) }
}

/** Walks from marker to marker until the one of a frame (ISO/IEC 10918-1, B.2.2). */
function jpegSize(file: Buffer): Measured | undefined {
  if (file[0] !== 0xff || file[1] !== 0xd8) return undefined
  for (let at = 2; at + 9 < file.length && file[at] === 0xff; ) {
    const marker = file[at + 1] ?? 0
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc
    if (isFrame) return { format: 'jpeg', height: file.readUInt16BE(at + 5), width: file.readUInt16BE(at + 7) }
    at += 2 + file.readUInt16BE(at + 2)
  }
  return undefined
}

/** The three kinds of first chunk that a WebP file may have (RFC 9649). */
function webpSize(file: Buffer): Measured | undefined {
  if (file.length < 30 || file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WEBP') {
    return undefined
  }
  switch (file.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { format: 'webp', width: file.readUInt16LE(26) & 0x3fff, height: file.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = file.readUInt32LE(21)
      return { format: 'webp', width: (bits & 0x3fff) + 1, height: ((bits >> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { format: 'webp', width: file.readUIntLE(24, 3) + 1, height: file.readUIntLE(27, 3) + 1 }
    default:
      return undefined
  }
}

/** What an image costs a model that embeds it, in tokens. */
export const IMAGE_TOKENS = 85

/** Keyword of an uncompressed `iTXt` chunk without a language, as pictures of the simulator have it; then the text, to the chunk's end. */
const DESCRIPTION = Buffer.from('iTXtDescription\0\0\0\0\0')
/** Longest description that is read, in bytes. */
const MAX_DESCRIPTION_BYTES = 32 * 1024

/**
 * What an image is to the embedding model: a picture of the simulator's is near the words of its description; any other image
 * is a thing of its own, alike to nothing but itself.
 */
export function wordsIn(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  const at = bytes.subarray(0, 2 * MAX_DESCRIPTION_BYTES).indexOf(DESCRIPTION)
  const length = at < 4 ? 0 : bytes.readUInt32BE(at - 4) - (DESCRIPTION.length - 4)
  const from = at + DESCRIPTION.length
  if (length > 0 && length <= MAX_DESCRIPTION_BYTES && from + length <= bytes.length)
    return bytes.toString('utf8', from, from + length)
  return `image ${createHash('sha256').update(bytes).digest('hex')}`
}
