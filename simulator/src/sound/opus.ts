import { commentHeader } from './comments.js'
import { samplesOf, type Utterance } from './speech.js'
import { SAMPLE_RATE } from './wav.js'

/** Opus counts at this rate for every input (RFC 7845, section 4). */
const SAMPLE_RATE_HZ = 48_000
const PACKET_SAMPLES = 960
/** 20 ms of silence: a code byte of the full band and one channel, and two bytes of the range coder (RFC 6716). */
const SILENCE = Buffer.from([0xf8, 0xff, 0xfe])
/** Samples that decoders leave out at the beginning. */
const PRE_SKIP_SAMPLES = 312
/** A tenth of a second. */
const PAGE_PACKETS = 5
const SERIAL = 0x73696d31
const BEGINS = 2
const ENDS = 4
const PAGE_HEAD_BYTES = 27
const MAX_SEGMENT_BYTES = 255

/** An Ogg file (RFC 3533, RFC 7845) that is silent for as long as the text takes to say, and holds it as its comment. */
export function* opus(utterance: Utterance): Generator<Buffer> {
  const samples = lengthOf(utterance)
  const packets = packetsIn(samples)
  yield Buffer.concat([page(0, BEGINS, 0, [head()]), page(1, 0, 0, [tags(utterance.text)])])
  for (let at = 0, number = 2; at < packets; at += PAGE_PACKETS, number += 1) {
    const count = Math.min(PAGE_PACKETS, packets - at)
    const last = at + count === packets
    // The position of the last page tells where the sound ends within its last packet.
    const position = last ? samples + PRE_SKIP_SAMPLES : (at + count) * PACKET_SAMPLES
    yield page(number, last ? ENDS : 0, position, Array(count).fill(SILENCE))
  }
}

function lengthOf(utterance: Utterance): number {
  return samplesOf(utterance) * (SAMPLE_RATE_HZ / SAMPLE_RATE)
}

function packetsIn(samples: number): number {
  return Math.ceil((samples + PRE_SKIP_SAMPLES) / PACKET_SAMPLES)
}

function head(): Buffer {
  const bytes = Buffer.alloc(19)
  bytes.write('OpusHead\x01\x01', 'latin1')
  bytes.writeUInt16LE(PRE_SKIP_SAMPLES, 10)
  bytes.writeUInt32LE(SAMPLE_RATE, 12)
  return bytes
}

function tags(text: string): Buffer {
  return Buffer.concat([Buffer.from('OpusTags'), commentHeader(text)])
}

function page(number: number, flags: number, position: number, packets: readonly Buffer[]): Buffer {
  const segments = packets.flatMap(({ length }) => [
    ...Array<number>(Math.floor(length / MAX_SEGMENT_BYTES)).fill(MAX_SEGMENT_BYTES),
    length % MAX_SEGMENT_BYTES,
  ])
  const bytes = Buffer.concat([Buffer.alloc(PAGE_HEAD_BYTES), Buffer.from(segments), ...packets])
  bytes.write('OggS')
  bytes[5] = flags
  bytes.writeBigInt64LE(BigInt(position), 6)
  bytes.writeUInt32LE(SERIAL, 14)
  bytes.writeUInt32LE(number, 18)
  bytes[26] = segments.length
  bytes.writeUInt32LE(checksum(bytes), 22)
  return bytes
}

const POLYNOMIAL = 0x04c11db7
const TABLE = Array.from({ length: 256 }, (_, byte) => {
  let value = byte << 24
  for (let bit = 0; bit < 8; bit += 1) value = value < 0 ? (value << 1) ^ POLYNOMIAL : value << 1
  return value >>> 0
})

function checksum(bytes: Buffer): number {
  let value = 0
  for (const byte of bytes) value = ((value << 8) ^ (TABLE[((value >>> 24) ^ byte) & 0xff] ?? 0)) >>> 0
  return value
}

/** Seconds by the position of the last page; undefined where there is none. */
export function oggSeconds(file: Buffer): number | undefined {
  const last = file.lastIndexOf('OggS')
  if (last < 0 || last + PAGE_HEAD_BYTES > file.length) return undefined
  const position = Number(file.readBigInt64LE(last + 6))
  return position > PRE_SKIP_SAMPLES ? (position - PRE_SKIP_SAMPLES) / SAMPLE_RATE_HZ : undefined
}
