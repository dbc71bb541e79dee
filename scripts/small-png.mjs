// A picture of a page as a PNG of 256 colours: a quarter of the size, and the same to the eye, as pages have few colours.
import { deflateSync, inflateSync } from 'node:zlib'

const MAX_COLOURS = 256
/** Squares of the channels' differences; below it two colours look alike. */
const MIN_DISTANCE = 300
const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])

/** `png`: 8 bits a channel, with or without alpha, as browsers write it. */
export function smallPng(png) {
  const { width, height, pixels } = decoded(png)
  const counts = new Map()
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1)
  const palette = paletteOf([...counts].sort(([, one], [, other]) => other - one).map(([colour]) => colour))
  const places = new Map(palette.map((colour, at) => [colour, at]))
  const rows = Buffer.alloc(height * (width + 1))
  for (let at = 0; at < pixels.length; at++) {
    const colour = pixels[at]
    if (!places.has(colour)) places.set(colour, nearest(colour, palette))
    rows[at + 1 + Math.floor(at / width)] = places.get(colour)
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(palette.flatMap(channels))
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', head),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** The most frequent ones first; but one that is rare and unlike all others comes before shades of what is there. */
function paletteOf(colours) {
  const palette = []
  const near = []
  for (const colour of colours) {
    if (palette.length === MAX_COLOURS) break
    const closest = palette[nearest(colour, palette)]
    if (closest === undefined || distance(colour, closest) > MIN_DISTANCE) palette.push(colour)
    else near.push(colour)
  }
  return [...palette, ...near.slice(0, MAX_COLOURS - palette.length)]
}

function distance(one, other) {
  const [left, right] = [channels(one), channels(other)]
  return left.reduce((sum, value, at) => sum + (value - right[at]) ** 2, 0)
}

function channels(colour) {
  return [colour >> 16, (colour >> 8) & 255, colour & 255]
}

function nearest(colour, palette) {
  let [best, least] = [0, Number.POSITIVE_INFINITY]
  for (const [at, one] of palette.entries()) {
    const apart = distance(colour, one)
    if (apart < least) [best, least] = [at, apart]
  }
  return best
}

/** Its pixels as 0xRRGGBB (PNG, section 9: filters). */
function decoded(png) {
  const [width, height, type] = [png.readUInt32BE(16), png.readUInt32BE(20), png[25]]
  const size = type === 6 ? 4 : 3
  const parts = []
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12)
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT')
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  const raw = inflateSync(Buffer.concat(parts))
  const stride = width * size
  const pixels = new Uint32Array(width * height)
  let above = new Uint8Array(stride)
  for (let row = 0; row < height; row++) {
    const line = raw.subarray(row * (stride + 1) + 1, (row + 1) * (stride + 1))
    unfilter(raw[row * (stride + 1)], line, above, size)
    for (let x = 0; x < width; x++)
      pixels[row * width + x] = (line[x * size] << 16) | (line[x * size + 1] << 8) | line[x * size + 2]
    above = line
  }
  return { width, height, pixels }
}

function unfilter(filter, line, above, size) {
  for (let at = 0; at < line.length; at++) {
    const [left, up, corner] = [at < size ? 0 : line[at - size], above[at], at < size ? 0 : above[at - size]]
    const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter]
    line[at] = (line[at] + guess) & 255
  }
}

function paeth(left, up, corner) {
  const [a, b, c] = [left, up, corner].map(one => Math.abs(left + up - corner - one))
  return a <= b && a <= c ? left : b <= c ? up : corner
}

const CRC = Array.from({ length: 256 }, (_, start) => {
  let value = start
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1
  return value >>> 0
})

function chunk(name, data) {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), data])
  let crc = 0xffffffff
  for (const byte of body) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8)
  const framed = Buffer.alloc(body.length + 8)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE((crc ^ 0xffffffff) >>> 0, body.length + 4)
  return framed
}
