import { chunksOf, spokenText } from './wav.js'

/** A recording, as far as the simulator understands it. */
export interface Heard {
  readonly container: string
  /** Seconds; of containers other than WAV an estimate by their size. */
  readonly duration: number
  /** What is said in it, where the simulator's own speech made it; empty where all of it is silence. */
  readonly text: string | undefined
}

/** How containers begin: bytes at an offset. */
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
/** Bytes a second of a recording that is compressed, by guess. */
const COMPRESSED = 16_000

/** `undefined` where the bytes are no sound in any container that is known. Never throws. */
export function hear(file: Buffer): Heard | undefined {
  if (file.toString('latin1', 0, 4) === 'RIFF' && file.toString('latin1', 8, 12) === 'WAVE') return hearWav(file)
  const mark = MARKS.find(([, offset, text]) => file.toString('latin1', offset, offset + text.length) === text)
  return mark && { container: mark[0], duration: file.length / COMPRESSED, text: undefined }
}

function hearWav(file: Buffer): Heard | undefined {
  const chunks = chunksOf(file.subarray(12))
  const format = chunks.find(({ id }) => id === 'fmt ')?.data
  const samples = chunks.find(({ id }) => id === 'data')?.data
  const rate = format !== undefined && format.length >= 16 ? format.readUInt32LE(8) : 0
  if (samples === undefined || rate === 0) return undefined
  const text = spokenText(file) ?? (samples.every(byte => byte === 0) ? '' : undefined)
  return { container: 'wav', duration: samples.length / rate, text }
}
