import type { Canvas, PictureOptions } from './canvas.js'

/** One step of quantization for all coefficients: fine enough that letters stay sharp. */
const STEP = 6
const SIDE = 8
const COMPONENTS = 3
const MAX_COMMENT_BYTES = 65_000

/** Coefficients in the order in which they are written, by their place in the block (ISO/IEC 10918-1, figure A.6). */
const ZIGZAG = Array.from({ length: SIDE * SIDE }, (_, at) => at).toSorted((a, b) => {
  const [one, other] = [diagonal(a), diagonal(b)]
  if (one !== other) return one - other
  return one % 2 === 0 ? b - a : a - b
})

function diagonal(at: number): number {
  return (at >> 3) + (at % SIDE)
}

/** Symbols of the two Huffman tables: sizes of differences, in 4 bits; the end of a block in 1 bit, runs and sizes in 9. */
const DC_SYMBOLS = Array.from({ length: 12 }, (_, size) => size)
const END_OF_BLOCK = 0x00
const ZEROS = 0xf0
const AC_SYMBOLS = [ZEROS, ...Array.from({ length: 160 }, (_, at) => (Math.floor(at / 10) << 4) | ((at % 10) + 1))]
const AC_CODES = new Map(AC_SYMBOLS.map((symbol, at) => [symbol, (1 << 8) | at]))

/** A block in one colour channel: its mean, and what is written of the rest. */
interface Block {
  readonly dc: number
  readonly rest: readonly (readonly [value: number, count: number])[]
}

/** Writes a picture as a baseline JPEG file (ISO/IEC 10918-1, JFIF) with all three channels in full; the description is its comment. */
export function jpeg(canvas: Canvas, { palette, description }: PictureOptions): Buffer {
  const colours = palette.map(([red, green, blue]) => [
    0.299 * red + 0.587 * green + 0.114 * blue - 128,
    -0.168_736 * red - 0.331_264 * green + 0.5 * blue,
    0.5 * red - 0.418_688 * green - 0.081_312 * blue,
  ])
  const bits = new Bits()
  const before = [0, 0, 0]
  // Cards repeat themselves: each block is transformed once.
  const made = new Map<string, readonly Block[]>()
  let last: Uint8Array = Buffer.alloc(0)
  let blocks: readonly Block[] = []
  for (let top = 0; top < canvas.height; top += SIDE) {
    for (let left = 0; left < canvas.width; left += SIDE) {
      const pixels = blockAt(canvas, left, top)
      if (!pixels.equals(last)) {
        const key = pixels.toString('latin1')
        blocks = made.get(key) ?? channelsOf(pixels, colours)
        made.set(key, blocks)
        last = pixels
      }
      for (const [channel, { dc, rest }] of blocks.entries()) {
        writeDifference(bits, dc - (before[channel] ?? 0))
        before[channel] = dc
        for (const [value, count] of rest) bits.put(value, count)
      }
    }
  }
  return Buffer.concat([head(canvas, description), bits.finish(), Buffer.from([0xff, 0xd9])])
}

/** The numbers of colours in a block; beyond the edge those of the edge. */
function blockAt({ width, height, bytes }: Canvas, left: number, top: number): Buffer {
  const block = Buffer.allocUnsafe(SIDE * SIDE)
  if (left + SIDE <= width && top + SIDE <= height) {
    for (let row = 0; row < SIDE; row += 1) {
      const from = (top + row) * (width + 1) + 1 + left
      block.set(bytes.subarray(from, from + SIDE), row * SIDE)
    }
    return block
  }
  for (let at = 0; at < block.length; at += 1) {
    const x = Math.min(width - 1, left + (at % SIDE))
    const y = Math.min(height - 1, top + (at >> 3))
    block[at] = bytes[y * (width + 1) + 1 + x] ?? 0
  }
  return block
}

function channelsOf(pixels: Buffer, colours: readonly (readonly number[])[]): readonly Block[] {
  return Array.from({ length: COMPONENTS }, (_, channel) => {
    const samples = Array.from(pixels, pixel => colours[pixel]?.[channel] ?? 0)
    const coefficients = transformed(samples).map(value => Math.round(value / STEP))
    return { dc: coefficients[0] ?? 0, rest: restOf(ZIGZAG.slice(1).map(at => coefficients[at] ?? 0)) }
  })
}

const COSINES = Array.from({ length: SIDE * SIDE }, (_, at) => {
  const [frequency, place] = [at >> 3, at % SIDE]
  return (frequency === 0 ? Math.SQRT1_2 : 1) * 0.5 * Math.cos(((2 * place + 1) * frequency * Math.PI) / 16)
})

/** The two-dimensional cosine transform of a block: rows, then columns. */
function transformed(samples: readonly number[]): readonly number[] {
  return lines(lines(samples))

  /** The transform of each row, as a column. */
  function lines(block: readonly number[]): readonly number[] {
    return Array.from({ length: SIDE * SIDE }, (_, at) => {
      const [frequency, row] = [at >> 3, at % SIDE]
      let sum = 0
      for (let place = 0; place < SIDE; place += 1) {
        sum += (block[row * SIDE + place] ?? 0) * (COSINES[frequency * SIDE + place] ?? 0)
      }
      return sum
    })
  }
}

function restOf(coefficients: readonly number[]): Block['rest'] {
  const rest: [number, number][] = []
  let zeros = 0
  for (const value of coefficients) {
    if (value === 0) {
      zeros += 1
      continue
    }
    for (; zeros > 15; zeros -= 16) rest.push([AC_CODES.get(ZEROS) ?? 0, 9])
    const size = sizeOf(value)
    rest.push([AC_CODES.get((zeros << 4) | size) ?? 0, 9], [magnitude(value, size), size])
    zeros = 0
  }
  if (zeros > 0) rest.push([0, 1])
  return rest
}

function writeDifference(bits: Bits, difference: number): void {
  const size = sizeOf(difference)
  bits.put(size, 4)
  bits.put(magnitude(difference, size), size)
}

/** Bits of a number without its sign. */
function sizeOf(value: number): number {
  return 32 - Math.clz32(Math.abs(value))
}

/** Negative numbers are written as ones' complement. */
function magnitude(value: number, size: number): number {
  return value < 0 ? value + 2 ** size - 1 : value
}

function head({ width, height }: Canvas, description: string): Buffer {
  const side = (length: number): readonly number[] => [length >> 8, length & 0xff]
  const components = [1, 2, 3].flatMap(id => [id, 0x11, 0])
  const dc = [0x00, ...counts({ 4: DC_SYMBOLS.length }), ...DC_SYMBOLS]
  const ac = [0x10, ...counts({ 1: 1, 9: AC_SYMBOLS.length }), END_OF_BLOCK, ...AC_SYMBOLS]
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, Buffer.from('JFIF\0\x01\x01\0\0\x01\0\x01\0\0', 'latin1')),
    segment(0xfe, Buffer.from(description).subarray(0, MAX_COMMENT_BYTES)),
    segment(0xdb, Buffer.from([0, ...Array<number>(SIDE * SIDE).fill(STEP)])),
    segment(0xc0, Buffer.from([8, ...side(height), ...side(width), COMPONENTS, ...components])),
    segment(0xc4, Buffer.from([...dc, ...ac])),
    segment(0xda, Buffer.from([COMPONENTS, 1, 0, 2, 0, 3, 0, 0, 63, 0])),
  ])
}

/** How many codes of each length from 1 to 16 there are. */
function counts(lengths: Readonly<Record<number, number>>): readonly number[] {
  return Array.from({ length: 16 }, (_, at) => lengths[at + 1] ?? 0)
}

function segment(marker: number, data: Buffer): Buffer {
  const start = Buffer.from([0xff, marker, 0, 0])
  start.writeUInt16BE(data.length + 2, 2)
  return Buffer.concat([start, data])
}

/** Writes bits, the highest first, with a zero behind each byte of ones, so that none looks like a marker. */
class Bits {
  readonly #bytes: number[] = []
  #byte = 0
  #free = 8

  put(value: number, count: number): void {
    for (let left = count; left > 0; ) {
      const now = Math.min(left, this.#free)
      left -= now
      this.#free -= now
      this.#byte |= ((value >> left) & (2 ** now - 1)) << this.#free
      if (this.#free === 0) this.#flush()
    }
  }

  /** Filled up with ones. */
  finish(): Buffer {
    while (this.#free < 8) this.put(1, 1)
    return Buffer.from(this.#bytes)
  }

  #flush(): void {
    this.#bytes.push(this.#byte)
    if (this.#byte === 0xff) this.#bytes.push(0)
    this.#byte = 0
    this.#free = 8
  }
}
