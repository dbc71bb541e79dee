import { commentIn } from './comments.js'
import { flacSeconds } from './flac.js'
import { aacSeconds, mp3Seconds, readTag } from './framed.js'
import { oggSeconds } from './opus.js'
import { chunksOf, spokenText } from './wav.js'

/** What the simulator can tell of a recording. */
export interface Transcription {
  readonly container: string
  /** Seconds, read from the container, or estimated from the size. */
  readonly duration: number
  /** The spoken text if the simulator made the recording; empty for pure silence. */
  readonly text: string | undefined
}

/** Magic bytes of containers, each at an offset. */
const MARKS: readonly (readonly [container: string, offset: number, mark: string])[] = [
  ['mp3', 0, 'ID3'],
  ['mp3', 0, '\xff\xfb'],
  ['mp3', 0, '\xff\xf3'],
  ['mp3', 0, '\xff\xf2'],
  ['aac', 0, '\xff\xf1'],
  ['aac', 0, '\xff\xf9'],
  ['ogg', 0, 'OggS'],
  ['flac', 0, 'fLaC'],
  ['m4a', 4, 'ftyp'],
  ['webm', 0, '\x1a\x45\xdf\xa3'],
]
/** Assumed bit rate of compressed recordings. */
const COMPRESSED_BYTES_PER_SECOND = 16_000

/** `undefined` if the bytes are not sound in a known container. Never throws. */
export function transcribeSound(file: Buffer): Transcription | undefined {
  if (file.toString('latin1', 0, 4) === 'RIFF' && file.toString('latin1', 8, 12) === 'WAVE') return transcribeWav(file)
  const mark = MARKS.find(([, offset, text]) => file.toString('latin1', offset, offset + text.length) === text)
  if (mark === undefined) return undefined
  const [container] = mark
  const { text, seconds } = read(container, file)
  return { container, duration: seconds ?? file.length / COMPRESSED_BYTES_PER_SECOND, text }
}

interface Container {
  readonly text: string | undefined
  readonly seconds: number | undefined
}

function read(container: string, file: Buffer): Container {
  switch (container) {
    case 'mp3':
    case 'aac': {
      const { text, end } = readTag(file)
      return { text, seconds: mp3Seconds(file, end) ?? aacSeconds(file, end) }
    }
    case 'ogg':
      return { text: commentIn(file), seconds: oggSeconds(file) }
    case 'flac':
      return { text: commentIn(file), seconds: flacSeconds(file) }
    default:
      return { text: undefined, seconds: undefined }
  }
}

function transcribeWav(file: Buffer): Transcription | undefined {
  const chunks = chunksOf(file.subarray(12))
  const format = chunks.find(({ id }) => id === 'fmt ')?.data
  const samples = chunks.find(({ id }) => id === 'data')?.data
  const rate = format !== undefined && format.length >= 16 ? format.readUInt32LE(8) : 0
  if (samples === undefined || rate === 0) return undefined
  const text = spokenText(file) ?? (samples.every(byte => byte === 0) ? '' : undefined)
  return { container: 'wav', duration: samples.length / rate, text }
}
