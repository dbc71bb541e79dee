import { FrameTable, frameCount, framesOf } from './framed.js'
import { bits, packed } from './packed.js'
import { samplesOf, type Utterance } from './speech.js'
import { SAMPLE_RATE } from './wav.js'

/** Low complexity AAC in ADTS frames (ISO/IEC 13818-7): 24 kHz, one channel, no checksum. */
const FRAME_SAMPLES = 1024
const HEADER_BYTES = 7
/** Index of 24 kHz among the sampling frequencies. */
const RATE = 6
/** Bands that hold lines, and where the last of them ends: up to 1,453 Hz. */
const BANDS = 21
const LINES = 124
/** Loudness of a frame that holds a tone. */
const GAIN = 187
/** Pairs of quantized lines in Huffman codebook 5: none; one of them, by the place of the line in the pair. */
const CODEBOOK = 5
const NO_LINE = '0'
const ONE_LINE = ['1000', '1001'] as const
/** The id of an element of other data (`data_stream_element`), its number 0, and that its data is aligned. */
const DATA_ELEMENT = 0x81
const DATA_HEAD_BYTES = 2
/** Bytes of the longest channel. */
const CHANNEL_BYTES = sound(SAMPLE_RATE).length

/**
 * Frames that are all of one size, so that readers can tell their duration: each carries its share of the text beside its
 * sound, filled up with zeros.
 */
export function* aac(utterance: Utterance): Generator<Buffer> {
  const text = Buffer.from(utterance.text)
  const share = shareOf(utterance, text.length)
  const table = new FrameTable(sound)
  let told = 0
  for (const frames of framesOf(utterance, FRAME_SAMPLES)) {
    const made = frames.map(frequency => {
      const channel = table.of(frequency)
      const data = Buffer.alloc(share + CHANNEL_BYTES - channel.length)
      text.subarray(told, told + share).copy(data)
      told += share
      return adts(Buffer.concat([Buffer.from([DATA_ELEMENT, data.length]), data, channel]))
    })
    yield Buffer.concat(made)
  }
}

export function aacLength(utterance: Utterance): number {
  const share = shareOf(utterance, Buffer.byteLength(utterance.text))
  const frames = frameCount(samplesOf(utterance), FRAME_SAMPLES)
  return frames * (HEADER_BYTES + DATA_HEAD_BYTES + share + CHANNEL_BYTES)
}

function shareOf(utterance: Utterance, length: number): number {
  return Math.ceil(length / frameCount(samplesOf(utterance), FRAME_SAMPLES))
}

/** A channel with one spectral line, which sounds as a tone; without any where the frequency is 0. */
function sound(frequency: number): Buffer {
  const line = Math.min(LINES - 1, Math.round((frequency * 2 * FRAME_SAMPLES) / SAMPLE_RATE))
  const bands = frequency === 0 ? 0 : BANDS
  const pairs = Array.from({ length: LINES / 2 }, (_, pair) =>
    pair === line >> 1 ? ONE_LINE[line % 2 === 0 ? 0 : 1] : NO_LINE,
  )
  const section = bits(CODEBOOK, 4) + bits(BANDS, 5)
  const content = frequency === 0 ? ['', '', ''] : [section, NO_LINE.repeat(BANDS), pairs.join('')]
  const [sections, scalefactors, spectrum] = content
  return packed(
    [
      bits(0, 3 + 4), // single_channel_element, its number
      bits(GAIN, 8),
      bits(0, 1 + 2 + 1), // reserved, one long window, its shape
      bits(bands, 6),
      bits(0, 1), // no prediction
      ...[sections, scalefactors],
      bits(0, 1 + 1 + 1), // no pulses, no noise shaping, no gain control
      ...[spectrum],
      bits(7, 3), // the end
    ].join(''),
  )
}

function adts(payload: Buffer): Buffer {
  const length = HEADER_BYTES + payload.length
  const header = [
    bits(0xfff, 12) + bits(0, 1) + bits(0, 2) + bits(1, 1), // MPEG-4, layer 0, no checksum
    bits(1, 2) + bits(RATE, 4) + bits(0, 1) + bits(1, 3) + bits(0, 4), // low complexity, one channel
    bits(length, 13) + bits(0x7ff, 11) + bits(0, 2), // a variable rate, one block
  ]
  return Buffer.concat([packed(header.join('')), payload])
}

const RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350]

/** The text of a file and its seconds; undefined where the bytes are no frames. */
export function readAac(file: Buffer): { readonly text: string | undefined; readonly seconds: number } | undefined {
  const parts: Buffer[] = []
  let frames = 0
  let rate = 0
  for (let at = 0; at + HEADER_BYTES < file.length; frames += 1) {
    const length = (file.readUIntBE(at + 3, 3) >> 5) & 0x1fff
    if (file[at] !== 0xff || length < HEADER_BYTES) break
    rate = RATES[((file[at + 2] ?? 0) >> 2) & 0xf] ?? 0
    const payload = file.subarray(at + HEADER_BYTES, at + length)
    if (payload[0] === DATA_ELEMENT) parts.push(payload.subarray(DATA_HEAD_BYTES, DATA_HEAD_BYTES + (payload[1] ?? 0)))
    at += length
  }
  if (frames === 0 || rate === 0) return undefined
  const text = parts.length === 0 ? undefined : Buffer.concat(parts.map(withoutZeros)).toString('utf8')
  return { text, seconds: (frames * FRAME_SAMPLES) / rate }
}

function withoutZeros(data: Buffer): Buffer {
  const end = data.indexOf(0)
  return end < 0 ? data : data.subarray(0, end)
}
