import { commentHeader } from './comments.js'
import { samplesOf, synthesize, type Utterance } from './speech.js'
import { SAMPLE_BYTES, SAMPLE_RATE } from './wav.js'

/** FLAC (RFC 9639): 16 bits, 24 kHz, one channel. Samples are not compressed; frames differ in length. */
const SAMPLE_BITS = 16
const INFO_BYTES = 34
const LAST_BLOCK = 0x80
const COMMENT_BLOCK = 4
/** Least and most samples of a frame, as the file tells them; the last frame may be shorter. */
const FRAME_SAMPLES = { least: 16, most: 65_535 }
/** Sync code with frames of varying length; 16 bits for the length, at 24 kHz; one channel of 16 bits. */
const FRAME_HEAD = [0xff, 0xf9, 0x77, 0x08]
/** The samples of a channel as they are. */
const VERBATIM = 0x02

export function* flac(utterance: Utterance): Generator<Buffer> {
  yield head(utterance)
  let first = 0
  for (const piece of synthesize(utterance)) {
    yield frame(first, piece)
    first += piece.length / SAMPLE_BYTES
  }
}

function head(utterance: Utterance): Buffer {
  const info = Buffer.alloc(INFO_BYTES)
  info.writeUInt16BE(FRAME_SAMPLES.least, 0)
  info.writeUInt16BE(FRAME_SAMPLES.most, 2)
  // 20 bits of the rate, 3 of the channels less one, 5 of the bits less one, 36 of the length; no digest.
  const facts = (BigInt(SAMPLE_RATE) << 44n) | (BigInt(SAMPLE_BITS - 1) << 36n) | BigInt(samplesOf(utterance))
  info.writeBigUInt64BE(facts, 10)
  const comment = commentHeader(utterance.text)
  return Buffer.concat([
    Buffer.from('fLaC'),
    block(0, INFO_BYTES),
    info,
    block(COMMENT_BLOCK | LAST_BLOCK, comment.length),
    comment,
  ])
}

function block(type: number, length: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(length)
  bytes[0] = type
  return bytes
}

function frame(first: number, samples: Buffer): Buffer {
  const count = samples.length / SAMPLE_BYTES
  const start = Buffer.from([...FRAME_HEAD, ...coded(first), (count - 1) >> 8, (count - 1) & 0xff])
  const content = Buffer.concat([start, Buffer.from([crc8(start), VERBATIM]), Buffer.from(samples).swap16()])
  const check = Buffer.alloc(2)
  check.writeUInt16BE(crc16(content))
  return Buffer.concat([content, check])
}

/** A number as UTF-8 would write it, of up to 36 bits. */
function coded(value: number): readonly number[] {
  if (value < 0x80) return [value]
  const tail: number[] = []
  let rest = value
  let room = 0x40
  while (rest >= room) {
    tail.unshift(0x80 | (rest % 0x40))
    rest = Math.floor(rest / 0x40)
    room /= 2
  }
  return [(0x100 - 2 * room) | rest, ...tail]
}

const CRC8 = table(0x07, 8)
const CRC16 = table(0x8005, 16)

function table(polynomial: number, width: number): readonly number[] {
  return Array.from({ length: 256 }, (_, byte) => {
    let value = byte << (width - 8)
    for (let bit = 0; bit < 8; bit += 1) value = value & (1 << (width - 1)) ? (value << 1) ^ polynomial : value << 1
    return value & (2 ** width - 1)
  })
}

function crc8(bytes: Buffer): number {
  let value = 0
  for (const byte of bytes) value = CRC8[value ^ byte] ?? 0
  return value
}

function crc16(bytes: Buffer): number {
  let value = 0
  for (const byte of bytes) value = ((value << 8) & 0xffff) ^ (CRC16[(value >> 8) ^ byte] ?? 0)
  return value
}

/** Seconds by what the file tells of itself; undefined where it does not. */
export function flacSeconds(file: Buffer): number | undefined {
  if (file.length < 8 + INFO_BYTES) return undefined
  const facts = file.readBigUInt64BE(18)
  const [rate, samples] = [Number(facts >> 44n), Number(facts & 0xfffffffffn)]
  return rate > 0 && samples > 0 ? samples / rate : undefined
}
