import { crc32, deflateSync, inflateSync } from 'node:zlib'

/** A pixel's channels, alpha last: two of greys, four of colours. */
export type Pixel = readonly number[]

/** A PNG of these rows of pixels with 8 or 16 bits a channel, whose row `y` has the filter `y % 5`. */
export function pngOf(rows: readonly (readonly Pixel[])[], depth: 8 | 16 = 8, more: readonly Buffer[] = []): Buffer {
  const channels = rows[0]?.[0]?.length ?? 4
  const head = Buffer.alloc(13)
  head.writeUInt32BE(rows[0]?.length ?? 0, 0)
  head.writeUInt32BE(rows.length, 4)
  head[8] = depth
  head[9] = { 1: 0, 2: 4, 3: 2, 4: 6 }[channels] ?? 6
  const size = (channels * depth) / 8
  const raw = rows.map(row =>
    Buffer.from(row.flat().flatMap(value => (depth === 8 ? [value] : [value >> 8, value & 255]))),
  )
  const lines = raw.map((row, y) => filtered(row, raw[y - 1] ?? Buffer.alloc(row.length), size, y % 5))
  // Two chunks: readers have to join them.
  const data = deflateSync(Buffer.concat(lines))
  const half = data.length >> 1
  const chunks = [
    ['IHDR', head],
    ['IDAT', data.subarray(0, half)],
    ['IDAT', data.subarray(half)],
    ['IEND', Buffer.alloc(0)],
  ]
  const [first, ...rest] = chunks.map(([type, bytes]) => pngChunk(String(type), bytes as Buffer))
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), first ?? Buffer.alloc(0), ...more, ...rest])
}

export function pngChunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type), data])
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  sum.writeUInt32BE(crc32(typed))
  return Buffer.concat([length, typed, sum])
}

function filtered(row: Buffer, above: Buffer, size: number, filter: number): Buffer {
  const line = row.map((value, x) => {
    const [a, b, c] = [x < size ? 0 : (row[x - size] ?? 0), above[x] ?? 0, x < size ? 0 : (above[x - size] ?? 0)]
    return value - ([0, a, b, (a + b) >> 1, paeth(a, b, c)][filter] ?? 0)
  })
  return Buffer.concat([Buffer.of(filter), line])
}

function paeth(a: number, b: number, c: number): number {
  const p = a + b - c
  const [first = a] = [a, b, c].sort((x, y) => Math.abs(p - x) - Math.abs(p - y))
  return first
}

/** The greys of a PNG of one chunk and one byte a pixel, whose rows have no filter; throws for others. */
export function greysOf(png: Buffer): readonly (readonly number[])[] {
  const [width, height, size] = [png.readUInt32BE(16), png.readUInt32BE(20), png.readUInt32BE(33)]
  const names = [12, 37, 49 + size].map(at => png.toString('latin1', at, at + 4))
  if (names.join() !== 'IHDR,IDAT,IEND' || png.toString('hex', 24, 29) !== '0800000000') throw new Error(names.join())
  for (const [from, length] of [
    [8, 13],
    [33, size],
    [45 + size, 0],
  ] as const)
    if (png.readUInt32BE(from + 8 + length) !== crc32(png.subarray(from + 4, from + 8 + length))) throw new Error('CRC')
  const bytes = inflateSync(png.subarray(41, 41 + size))
  if (bytes.length !== height * (width + 1)) throw new Error(`${bytes.length} bytes of pixels`)
  return Array.from({ length: height }, (_, y) => {
    if (bytes[y * (width + 1)] !== 0) throw new Error(`row ${y} is filtered`)
    return [...bytes.subarray(y * (width + 1) + 1, (y + 1) * (width + 1))]
  })
}
