import { crc32, deflateSync } from 'node:zlib'
import type { Canvas, PictureOptions } from './canvas.js'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const PALETTE_OF_8_BITS = [8, 3, 0, 0, 0]
/** Flat areas pack well even at the quickest level. */
const COMPRESSION_LEVEL = 1

/** Writes a picture as a PNG file (PNG, third edition: sections 5 and 11). */
export function png({ width, height, bytes }: Canvas, { palette, transparent, description }: PictureOptions): Buffer {
  const header = Buffer.alloc(8)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  return Buffer.concat([
    SIGNATURE,
    ...chunk('IHDR', Buffer.from([...header, ...PALETTE_OF_8_BITS])),
    ...chunk('PLTE', Buffer.from(palette.flat())),
    ...(transparent ? chunk('tRNS', Buffer.from([0])) : []),
    // Keyword, not compressed, no language, no translated keyword; then the text in UTF-8.
    ...chunk('iTXt', Buffer.from(`Description\0\0\0\0\0${description.replaceAll('\0', '')}`)),
    ...chunk('IDAT', deflateSync(bytes, { level: COMPRESSION_LEVEL })),
    ...chunk('IEND', Buffer.alloc(0)),
  ])
}

/** A length, a type, the data, and a CRC over the latter two. */
function chunk(type: string, data: Buffer): readonly Buffer[] {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const length = Buffer.alloc(4)
  const check = Buffer.alloc(4)
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(typed))
  return [length, typed, check]
}
