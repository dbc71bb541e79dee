import { crc32, deflateSync } from 'node:zlib'
import type { Colour, Picture } from './shapes.js'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const PALETTE_OF_8_BITS = [8, 3, 0, 0, 0]
/** Flat areas pack well even at the quickest level. */
const COMPRESSION_LEVEL = 1
const PAPER: Colour = [0xf7, 0xf5, 0xf0]

/** Writes a picture as a PNG file (PNG, third edition: sections 5 and 11). */
export function png(picture: Picture): Buffer {
  const header = Buffer.alloc(8)
  header.writeUInt32BE(picture.width, 0)
  header.writeUInt32BE(picture.height, 4)
  return Buffer.concat([
    SIGNATURE,
    ...chunk('IHDR', Buffer.from([...header, ...PALETTE_OF_8_BITS])),
    ...chunk('PLTE', Buffer.from([PAPER, ...picture.colours].flat())),
    ...(picture.transparent ? chunk('tRNS', Buffer.from([0])) : []),
    // Keyword, not compressed, no language, no translated keyword; then the text in UTF-8.
    ...chunk('iTXt', Buffer.from(`Description\0\0\0\0\0${picture.description.replaceAll('\0', '')}`)),
    ...chunk('IDAT', deflateSync(pixels(picture), { level: COMPRESSION_LEVEL })),
    ...chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Framed panels, each filled from the top down to its middle when it is done; rows begin with 0: they are not filtered. */
function pixels({ width, height, colours, share }: Picture): Buffer {
  const side = colours.length === 1 ? 1 : 2
  const [across, down] = [width / side, height / side]
  const edge = Math.max(2, Math.floor(Math.min(across, down) / 40))
  const filled = edge + ((down - 2 * edge) * share) / 2
  const bytes = Buffer.alloc((width + 1) * height)
  for (const panel of colours.keys()) {
    for (let y = 0; y < down; y += 1) {
      const row = Math.floor(panel / side) * down + y
      const start = row * (width + 1) + 1 + (panel % side) * across
      bytes.fill(panel + 1, start, start + across)
      if (y >= filled && y < down - edge && across > 2 * edge) bytes.fill(0, start + edge, start + across - edge)
    }
  }
  return bytes
}

/** A length, a type, the data, and a CRC over the latter two. */
function chunk(type: string, data: Buffer): readonly Buffer[] {
  const typed = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(typed))
  return [length, typed, check]
}
