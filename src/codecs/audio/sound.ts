import type { Sound } from '../../core/audio.js'
import type { MediaPart } from '../../core/text.js'
import { badUpstream } from '../read.js'

const SAMPLE_BYTES = 2
const WAVE_FORMAT_PCM = 1
const CHUNK_HEADER_BYTES = 8
const DEFAULT_RATE_HZ = 24_000
const MAX_RATE_HZ = 768_000
const MAX_CHANNELS = 8

/**
 * The sound of an answer's parts. Its samples come bare (`audio/L16;codec=pcm;rate=24000`: little-endian, despite RFC
 * 2586 says of that name) or in a WAV file. Throws `bad_upstream_response`.
 */
export function soundOf(parts: readonly MediaPart[]): Sound {
  const sounds = parts.map(readSound)
  const [first] = sounds
  if (first === undefined) throw badUpstream('It contains no audio.')
  if (sounds.length === 1) return first
  const isSame = sounds.every(({ rate, channels }) => rate === first.rate && channels === first.channels)
  if (!isSame) throw badUpstream('Its audio chunks do not fit together.')
  return { ...first, samples: Buffer.concat(sounds.map(({ samples }) => samples)) }
}

function readSound({ source, mime = '' }: MediaPart): Sound {
  if (!('base64' in source)) throw badUpstream('It does not contain its audio.')
  const bytes = Buffer.from(source.base64, 'base64')
  const sound = /^audio\/(?:l16|pcm|x-pcm)\b/i.test(mime) ? ofSamples(bytes, mime) : ofWav(bytes)
  if (sound === undefined) throw badUpstream(`Its audio has an unsupported type (${mime.slice(0, 64)}).`)
  const { samples, rate, channels } = sound
  if (samples.length < SAMPLE_BYTES) throw badUpstream('It contains no audio.')
  if (rate < 1 || rate > MAX_RATE_HZ || channels < 1 || channels > MAX_CHANNELS) {
    throw badUpstream('Its audio has an invalid sample rate.')
  }
  return { rate, channels, samples: samples.subarray(0, samples.length - (samples.length % (SAMPLE_BYTES * channels))) }
}

function ofSamples(samples: Buffer, mime: string): Sound {
  const number = (name: string, otherwise: number): number =>
    Number(new RegExp(`;\\s*${name}="?(\\d{1,7})`, 'i').exec(mime)?.[1] ?? otherwise)
  return { samples, rate: number('rate', DEFAULT_RATE_HZ), channels: number('channels', 1) }
}

/** A RIFF file of 16-bit samples; undefined where it is not one. */
function ofWav(file: Buffer): Sound | undefined {
  if (file.toString('latin1', 0, 4) !== 'RIFF' || file.toString('latin1', 8, 12) !== 'WAVE') return undefined
  let format: Buffer | undefined
  for (let at = 12; at + CHUNK_HEADER_BYTES <= file.length; ) {
    const id = file.toString('latin1', at, at + 4)
    const size = file.readUInt32LE(at + 4)
    const data = file.subarray(at + CHUNK_HEADER_BYTES, at + CHUNK_HEADER_BYTES + size)
    if (id === 'fmt ') format = data
    if (id === 'data') return format === undefined ? undefined : withFormat(data, format)
    at += CHUNK_HEADER_BYTES + size + (size % 2)
  }
  return undefined
}

function withFormat(samples: Buffer, format: Buffer): Sound | undefined {
  const is16 =
    format.length >= 16 && format.readUInt16LE(0) === WAVE_FORMAT_PCM && format.readUInt16LE(14) === 8 * SAMPLE_BYTES
  return is16 ? { samples, channels: format.readUInt16LE(2), rate: format.readUInt32LE(4) } : undefined
}

/** A WAV file (RIFF, Microsoft and IBM 1991). */
export function wavOf({ samples, rate, channels }: Sound): Buffer {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(36 + samples.length, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(WAVE_FORMAT_PCM, 20)
  head.writeUInt16LE(channels, 22)
  head.writeUInt32LE(rate, 24)
  head.writeUInt32LE(rate * channels * SAMPLE_BYTES, 28)
  head.writeUInt16LE(channels * SAMPLE_BYTES, 32)
  head.writeUInt16LE(8 * SAMPLE_BYTES, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(samples.length, 40)
  return Buffer.concat([head, samples])
}

/** Bare samples, which in the compatible protocols mean 24,000 a second on one channel. Throws `bad_upstream_response`. */
export function pcmOf({ samples, rate, channels }: Sound): Uint8Array {
  if (rate === DEFAULT_RATE_HZ && channels === 1) return samples
  const format = `${rate} samples per second on ${channels} channels`
  throw badUpstream(`Its audio has ${format}, which pcm cannot express: ask for wav.`)
}
