import { crc32, deflateSync, inflateSync } from 'node:zlib'

// Masks of the compatible interface are transparent where an image may change; other servers read black and white.
// PNG: https://www.w3.org/TR/png-3/

/** Why a mask cannot be read: it has too many pixels, it is not a valid PNG, or a kind of PNG that is not read. */
export type PngFault = 'large' | 'broken' | 'other'

/** Most pixels of a mask: more would keep the event loop for too long. */
const MAX_PIXELS = 4096 * 1024
/** Longest side of a mask, pixels: a row costs something by itself. */
const MAX_SIDE = 16_384

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')
const GREY_ALPHA = 4
const COLOUR_ALPHA = 6

interface Alpha {
  readonly width: number
  readonly height: number
  /** Bytes of a pixel, and of its alpha within it, which comes last. */
  readonly pixel: number
  readonly depth: number
}

/**
 * The mask in greys: `changed` where it is fully transparent, and the other end elsewhere. Undefined for images that are not
 * PNG or have no transparent pixel.
 */
export function opaqueMask(png: Buffer, changed: 0 | 255): Buffer | PngFault | undefined {
  if (!png.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return undefined
  const chunks = chunksOf(png)
  const head = chunks?.[0]
  if (chunks === undefined || head?.type !== 'IHDR' || head.data.length !== 13) return 'broken'
  const [width, height] = [head.data.readUInt32BE(0), head.data.readUInt32BE(4)]
  const [depth = 0, colour = 0, , , interlace = 0] = head.data.subarray(8)
  if (colour !== GREY_ALPHA && colour !== COLOUR_ALPHA)
    return chunks.some(({ type }) => type === 'tRNS') ? 'other' : undefined
  if (interlace !== 0 || (depth !== 8 && depth !== 16)) return 'other'
  if (width === 0 || height === 0) return 'broken'
  if (Math.max(width, height) > MAX_SIDE || width * height > MAX_PIXELS) return 'large'
  const pixel = ((colour === GREY_ALPHA ? 2 : 4) * depth) / 8
  const size = height * (1 + width * pixel)
  const rows = inflated(Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data)), size)
  if (rows === undefined) return 'broken'
  const grey = greyOf(rows, { width, height, pixel, depth }, changed)
  return grey && written(width, height, grey)
}

interface Chunk {
  readonly type: string
  readonly data: Buffer
}

/** Undefined where one does not fit into the file. Checksums are for the server that gets the mask. */
function chunksOf(png: Buffer): readonly Chunk[] | undefined {
  const chunks: Chunk[] = []
  for (let at = SIGNATURE.length; at + 12 <= png.length; ) {
    const end = at + 8 + png.readUInt32BE(at)
    if (end + 4 > png.length) return undefined
    chunks.push({ type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, end) })
    at = end + 4
  }
  return chunks
}

/** Exactly `size` bytes; undefined if there are more or fewer. */
function inflated(data: Buffer, size: number): Buffer | undefined {
  try {
    const rows = inflateSync(data, { maxOutputLength: size })
    return rows.length === size ? rows : undefined
  } catch {
    return undefined
  }
}

/**
 * Rows of one byte a pixel, each after a filter byte, by the alpha alone: filters work on each byte of a pixel by itself.
 * Undefined if no pixel is fully transparent.
 */
function greyOf(rows: Buffer, { width, height, pixel, depth }: Alpha, changed: 0 | 255): Buffer | undefined {
  const grey = Buffer.alloc(height * (1 + width), 255 - changed)
  const bytes = depth / 8
  const planes = Array.from({ length: bytes }, () => [new Uint8Array(width + 1), new Uint8Array(width + 1)] as const)
  let isTransparent = false
  for (let y = 0; y < height; y++) {
    const from = y * (1 + width * pixel)
    const now = planes.map((pair, index) => {
      const [above, row] = y % 2 === 0 ? pair : [pair[1], pair[0]]
      unfilter(rows, from, pixel, pixel - bytes + index, above, row)
      return row
    })
    const [high = new Uint8Array(0), low] = now
    const to = y * (1 + width)
    grey[to] = 0
    for (let x = 1; x <= width; x++) {
      if (high[x] !== 0 || (low !== undefined && low[x] !== 0)) continue
      grey[to + x] = changed
      isTransparent = true
    }
  }
  return isTransparent ? grey : undefined
}

/** One byte of each pixel of a row into `row`, whose first byte is that of what is left of the image, 0. */
function unfilter(rows: Buffer, from: number, pixel: number, offset: number, above: Uint8Array, row: Uint8Array): void {
  const filter = rows[from]
  for (let x = 1, at = from + 1 + offset; x < row.length; x++, at += pixel) {
    const value = rows[at] ?? 0
    row[x] = filter === 0 ? value : value + predicted(filter, row[x - 1] ?? 0, above[x] ?? 0, above[x - 1] ?? 0)
  }
}

function predicted(filter: number | undefined, left: number, up: number, corner: number): number {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  if (filter !== 4) return 0
  const toLeft = Math.abs(up - corner)
  const toUp = Math.abs(left - corner)
  const toCorner = Math.abs(left + up - 2 * corner)
  if (toLeft <= toUp && toLeft <= toCorner) return left
  return toUp <= toCorner ? up : corner
}

function written(width: number, height: number, grey: Buffer): Buffer {
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head[8] = 8
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('IDAT', deflateSync(grey)),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const made = Buffer.alloc(data.length + 12)
  made.writeUInt32BE(data.length, 0)
  made.write(type, 4, 'latin1')
  data.copy(made, 8)
  made.writeUInt32BE(crc32(made.subarray(4, data.length + 8)), data.length + 8)
  return made
}
