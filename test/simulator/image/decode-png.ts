import { inflateSync } from 'node:zlib'

/** A PNG file taken apart without the code that wrote it. */
export interface Decoded {
  readonly width: number
  readonly height: number
  /** The types of all chunks, in order. */
  readonly chunks: readonly string[]
  readonly palette: Buffer
  readonly description: string | undefined
  /** The number of the palette's colour at a place. */
  at(x: number, y: number): number
}

const SIGNATURE = '89504e470d0a1a0a'

/** Checks the signature, every CRC, the length of the pixels and that rows are not filtered; throws where one is wrong. */
export function decodePng(file: Buffer): Decoded {
  if (file.toString('hex', 0, 8) !== SIGNATURE) throw new Error('no PNG signature')
  const chunks: [type: string, data: Buffer][] = []
  let at = 8
  while (at < file.length) {
    const length = file.readUInt32BE(at)
    const typed = file.subarray(at + 4, at + 8 + length)
    if (crc(typed) !== file.readUInt32BE(at + 8 + length)) throw new Error(`wrong CRC of a chunk at ${at}`)
    chunks.push([typed.toString('latin1', 0, 4), typed.subarray(4)])
    at += 12 + length
  }
  if (at !== file.length) throw new Error('bytes after the last chunk')
  const of = (wanted: string): Buffer =>
    Buffer.concat(chunks.flatMap(([type, data]) => (type === wanted ? [data] : [])))
  const header = of('IHDR')
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  if (header.toString('hex', 8) !== '0803000000') throw new Error('not a palette of 8 bits without interlacing')
  const pixels = inflateSync(of('IDAT'))
  if (pixels.length !== (width + 1) * height) throw new Error(`${pixels.length} bytes of pixels`)
  for (let row = 0; row < height; row += 1) {
    if (pixels[row * (width + 1)] !== 0) throw new Error(`row ${row} is filtered`)
  }
  const text = of('iTXt')
  return {
    width,
    height,
    chunks: chunks.map(([type]) => type),
    palette: of('PLTE'),
    description: text.length === 0 ? undefined : text.toString('utf8').split('\0').at(-1),
    at: (x, y) => pixels[y * (width + 1) + 1 + x] ?? -1,
  }
}

/** CRC-32 as ISO 3309 has it, bit by bit. */
function crc(bytes: Buffer): number {
  let value = 0xffffffff
  for (const byte of bytes) {
    value ^= byte
    for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  }
  return ~value >>> 0
}
