import { tonesOf, type Utterance } from './speech.js'

/** A format whose files are frames of one length. */
interface Framed {
  /** Samples of a frame. */
  readonly samples: number
  /** A frame that sounds as a tone, in hexadecimal. */
  readonly frame: string
}

/** MPEG-2 audio, layer III (ISO/IEC 13818-3): 24 kHz, one channel, 16 kbit/s, without a checksum. */
const MP3: Framed = { samples: 576, frame: 'fff324c00000481f1c00084200fd'.padEnd(96, '0') }
/** Low complexity AAC in ADTS frames (ISO/IEC 13818-7): 24 kHz, one channel, without a checksum. */
const AAC: Framed = { samples: 1024, frame: 'fff1584002fffc01760a96a0000000048000000000000e' }

export const mp3 = framed(MP3)
export const aac = framed(AAC)

/** Frames behind a tag that holds the text, as many as the text takes to say. */
function framed({ samples: size, frame: hex }: Framed) {
  const frame = Buffer.from(hex, 'hex')
  /** How many frames are at least half filled by so many samples. */
  const filled = (samples: number): number => Math.max(0, Math.ceil((samples - size / 2) / size))

  function* pieces(utterance: Utterance): Generator<Buffer> {
    yield tag(utterance.text)
    let [samples, frames] = [0, 0]
    for (const tones of tonesOf(utterance)) {
      for (const tone of tones) samples += tone.samples
      const count = filled(samples) - frames
      frames += count
      if (count > 0) yield Buffer.concat(Array<Buffer>(count).fill(frame))
    }
    // What is left is less than half a frame: one more, so that nothing is cut off.
    if (frames * size < samples) yield frame
  }
  return pieces
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

/** The comment that {@link framed} puts before the frames, and where they begin. */
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

const ADTS_HEAD_BYTES = 7
const ADTS_RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350]

/** Seconds of the ADTS frames from a place on; undefined where there is no frame. */
export function aacSeconds(file: Buffer, from: number): number | undefined {
  let [frames, rate] = [0, 0]
  for (let at = from; at + ADTS_HEAD_BYTES < file.length; frames += 1) {
    const length = (file.readUIntBE(at + 3, 3) >> 5) & 0x1fff
    if (file[at] !== 0xff || length < ADTS_HEAD_BYTES) break
    rate = ADTS_RATES[((file[at + 2] ?? 0) >> 2) & 0xf] ?? 0
    at += length
  }
  return frames > 0 && rate > 0 ? (frames * AAC.samples) / rate : undefined
}
