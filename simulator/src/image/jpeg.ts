import { bits, packed } from '../bits.js'
import type { Colour, Picture } from './shapes.js'

const BLOCK_PIXELS = 8
const MAX_COMMENT_BYTES = 65_000
/** Eight times the mean of a block is divided by this: means are exact. */
const QUANTIZER = 8
/** Huffman codes (ISO/IEC 10918-1, section B.2.4.2): twelve sizes of differences in 4 bits each; the end of a block in one. */
const DIFFERENCES = [0x00, ...counts(4, 12), ...Array(12).keys()]
const END_OF_BLOCK = [0x10, ...counts(1, 1), 0]
const COMPONENTS = [1, 2, 3]
/** A block like the one before it: no difference, and its end. */
const SAME_BLOCK_BITS = 5

/** Writes a picture of its first colour as a JPEG file, with the description as its comment. */
export function jpeg({ width, height, colours: [colour], description }: Picture): Buffer {
  const blocks = Math.ceil(width / BLOCK_PIXELS) * Math.ceil(height / BLOCK_PIXELS)
  const first = samplesOf(colour).map(difference).join('')
  const length = first.length + (blocks - 1) * COMPONENTS.length * SAME_BLOCK_BITS
  const scan = packed(first, Math.ceil(length / 8))
  const last = scan.length - 1
  scan[last] = (scan[last] ?? 0) | (2 ** (8 * scan.length - length) - 1)
  const size = [height >> 8, height & 0xff, width >> 8, width & 0xff]
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xe0, [...Buffer.from('JFIF\0'), 1, 1, 0, 0, 1, 0, 1, 0, 0]),
    segment(0xfe, Buffer.from(description).subarray(0, MAX_COMMENT_BYTES)),
    segment(0xdb, [0, ...Array<number>(BLOCK_PIXELS ** 2).fill(QUANTIZER)]),
    segment(0xc0, [8, ...size, COMPONENTS.length, ...COMPONENTS.flatMap(component => [component, 0x11, 0])]),
    segment(0xc4, [...DIFFERENCES, ...END_OF_BLOCK]),
    segment(0xda, [COMPONENTS.length, ...COMPONENTS.flatMap(component => [component, 0]), 0, 63, 0]),
    ...stuffed(scan),
    Buffer.from([0xff, 0xd9]),
  ])
}

function counts(length: number, codes: number): readonly number[] {
  return Array.from({ length: 16 }, (_, at) => (at + 1 === length ? codes : 0))
}

/** A mean as the difference from nothing: its size, its bits (a negative one less one), and the end of the block. */
function difference(value: number): string {
  const size = value === 0 ? 0 : 32 - Math.clz32(Math.abs(value))
  return bits(size, 4) + (size === 0 ? '' : bits(value < 0 ? value + 2 ** size - 1 : value, size)) + bits(0, 1)
}

/** Luma and both chromas in the full range (JFIF), each from -128 to 127. */
function samplesOf([red, green, blue]: Colour): readonly number[] {
  const luma = 0.299 * red + 0.587 * green + 0.114 * blue
  return [luma - 128, 0.564 * (blue - luma), 0.713 * (red - luma)].map(Math.round)
}

/** A zero byte follows each byte of ones, which would be a marker otherwise. */
function stuffed(scan: Buffer): Buffer[] {
  const at = scan.indexOf(0xff) + 1
  return at === 0 ? [scan] : [scan.subarray(0, at), Buffer.alloc(1), ...stuffed(scan.subarray(at))]
}

function segment(marker: number, data: Iterable<number>): Buffer {
  const bytes = Buffer.from([...data])
  return Buffer.concat([Buffer.from([0xff, marker, (bytes.length + 2) >> 8, (bytes.length + 2) & 0xff]), bytes])
}
