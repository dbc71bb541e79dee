import type { Picture } from './shapes.js'

const SIGNATURE = 0x2f
const FILE_BYTES = 34
const IMAGE_BYTES = 13

/**
 * Writes a picture of its first colour as a lossless WebP file (RFC 9649). Each of its five codes has one symbol alone, so
 * that a pixel takes no bit at all.
 */
export function webp({ width, height, colours: [[red, green, blue]], transparent }: Picture): Buffer {
  let [image, length] = [0n, 0n]
  const put = (value: number, count: number): void => {
    image |= BigInt(value) << length
    length += BigInt(count)
  }
  put(SIGNATURE, 8)
  put(width - 1, 14)
  put(height - 1, 14)
  put(transparent ? 1 : 0, 1)
  put(0, 3 + 1 + 1 + 1) // the version; no transform, no cache of colours, one group of codes
  for (const symbol of [green, red, blue, transparent ? 0 : 255, 0]) {
    put(0b101, 3) // a simple code, of one symbol, that has 8 bits
    put(symbol, 8)
  }
  const file = Buffer.alloc(FILE_BYTES)
  file.write('RIFF')
  file.writeUInt32LE(FILE_BYTES - 8, 4)
  file.write('WEBPVP8L', 8)
  file.writeUInt32LE(IMAGE_BYTES, 16)
  for (let at = 0; at < IMAGE_BYTES; at += 1) file[20 + at] = Number((image >> BigInt(8 * at)) & 0xffn)
  return file
}
