import { FrameTable, frameCount, framesOf } from './framed.js'
import { bits, packed } from './packed.js'
import { samplesOf, type Utterance } from './speech.js'
import { SAMPLE_RATE } from './wav.js'

/** MPEG-2 audio, layer III (ISO/IEC 13818-3): 24 kHz, one channel, 16 kbit/s, without a checksum. */
const HEADER = Buffer.from([0xff, 0xf3, 0x24, 0xc0])
const FRAME_SAMPLES = 576
const FRAME_BYTES = 48
/** Loudness of a frame (`global_gain`) that holds a tone. */
const GAIN = 199
/** Codes of pairs of quantized lines in Huffman table 1: none, the first alone, the second alone. */
const PAIRS = { none: '1', first: '01', second: '001' } as const

/** A file of frames, behind a tag that holds the text. */
export function* mp3(utterance: Utterance): Generator<Buffer> {
  yield tag(utterance.text)
  const table = new FrameTable(frame)
  for (const frames of framesOf(utterance, FRAME_SAMPLES)) {
    yield Buffer.concat(frames.map(frequency => table.of(frequency)))
  }
}

export function mp3Length(utterance: Utterance): number {
  return tag(utterance.text).length + FRAME_BYTES * frameCount(samplesOf(utterance), FRAME_SAMPLES)
}

/** One granule with one spectral line, which sounds as a tone; without any line where the frequency is 0. */
function frame(frequency: number): Buffer {
  const line = Math.min(FRAME_SAMPLES - 1, Math.round((frequency * 2 * FRAME_SAMPLES) / SAMPLE_RATE))
  const pairs = frequency === 0 ? 0 : Math.floor(line / 2) + 1
  const spectrum = pairs === 0 ? '' : `${PAIRS.none.repeat(pairs - 1)}${line % 2 === 0 ? PAIRS.first : PAIRS.second}0`
  const side = [
    bits(0, 8 + 1), // main_data_begin, private_bits
    bits(spectrum.length, 12),
    bits(pairs, 9),
    bits(GAIN, 8),
    bits(0, 9 + 1), // scalefac_compress, window_switching_flag
    bits(1, 5).repeat(3), // table_select of the three regions
    bits(0, 4 + 3), // region0_count, region1_count
    bits(0, 1 + 1), // scalefac_scale, count1table_select
  ]
  return Buffer.concat([HEADER, packed(side.join('') + spectrum, FRAME_BYTES - HEADER.length)])
}

/** ID3 2.4 with one comment in UTF-8. */
function tag(text: string): Buffer {
  const comment = Buffer.concat([Buffer.from('\x03eng\0', 'latin1'), Buffer.from(text)])
  const frame = Buffer.concat([Buffer.from('COMM'), synchsafe(comment.length), Buffer.alloc(2), comment])
  return Buffer.concat([Buffer.from('ID3\x04\0\0', 'latin1'), synchsafe(frame.length), frame])
}

/** A length in four bytes of seven bits each. */
function synchsafe(length: number): Buffer {
  return Buffer.from([21, 14, 7, 0].map(shift => (length >> shift) & 0x7f))
}

/** The comment that {@link mp3} put before the frames, and where they begin. */
export function readTag(file: Buffer): { readonly text: string | undefined; readonly end: number } {
  if (file.toString('latin1', 0, 3) !== 'ID3' || file.length < 10) return { text: undefined, end: 0 }
  const end = 10 + lengthAt(file, 6)
  const isOurs = file.toString('latin1', 10, 14) === 'COMM' && file[20] === 3 && file[24] === 0
  return { text: isOurs ? file.toString('utf8', 25, Math.min(end, 20 + lengthAt(file, 14))) : undefined, end }
}

function lengthAt(file: Buffer, at: number): number {
  return [0, 1, 2, 3].reduce((length, index) => (length << 7) | ((file[at + index] ?? 0) & 0x7f), 0)
}

/** Kilobits a second by index, for layer III of MPEG-1 and of MPEG-2 and 2.5. */
const RATES = [
  [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
] as const

/** Seconds of the frames from a place on, if all have the rate of the first one; undefined where there is no frame. */
export function mp3Seconds(file: Buffer, from: number): number | undefined {
  const [sync, version = 0, rate = 0] = file.subarray(from, from + 3)
  if (sync !== 0xff || (version & 0xe6) !== 0xe2) return undefined
  const kilobits = RATES[(version & 0x18) === 0x18 ? 0 : 1][rate >> 4]
  return kilobits ? ((file.length - from) * 8) / (kilobits * 1000) : undefined
}
