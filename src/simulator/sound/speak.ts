import { SAMPLE_BYTES, SAMPLE_RATE } from './wav.js'

export interface Utterance {
  readonly text: string
  /** Hertz of the lowest tone. */
  readonly pitch: number
  /** 1 is as usual, 2 twice as fast. */
  readonly speed: number
}

/** Milliseconds that a character sounds for. */
const LETTER = 60
const SPACE = 40
const STOP = 120

const TONES = 24
const LOUD = 9000
/** Samples in which a tone swells and fades, so that it does not click. */
const EDGE = 120
/** Samples of a piece: a tenth of a second, or the character that goes beyond it. */
const PIECE = SAMPLE_RATE / 10

/** How many samples it takes to say a text: its length decides, and the speed. */
export function samplesOf({ text, speed }: Utterance): number {
  let samples = 0
  for (const character of text) samples += samplesFor(character, speed)
  return samples
}

/** The samples, in little-endian bytes, some tenths of a second at a time. Each letter has a tone of its own. */
export function* speak({ text, pitch, speed }: Utterance): Generator<Buffer> {
  let piece: Buffer[] = []
  let samples = 0
  for (const character of text) {
    const length = samplesFor(character, speed)
    piece.push(tone(frequencyOf(character, pitch), length))
    samples += length
    if (samples < PIECE) continue
    yield Buffer.concat(piece)
    piece = []
    samples = 0
  }
  if (piece.length > 0) yield Buffer.concat(piece)
}

function samplesFor(character: string, speed: number): number {
  const milliseconds = /\s/u.test(character) ? SPACE : /\p{P}/u.test(character) ? STOP : LETTER
  return Math.round((milliseconds * SAMPLE_RATE) / 1000 / speed)
}

/** 0 for silence. */
function frequencyOf(character: string, pitch: number): number {
  if (/[\s\p{P}]/u.test(character)) return 0
  return pitch * 2 ** (((character.toLowerCase().codePointAt(0) ?? 0) % TONES) / 12)
}

function tone(frequency: number, length: number): Buffer {
  const bytes = Buffer.alloc(length * SAMPLE_BYTES)
  if (frequency === 0) return bytes
  const step = (2 * Math.PI * frequency) / SAMPLE_RATE
  for (let at = 0; at < length; at += 1) {
    const edge = Math.min(1, at / EDGE, (length - at) / EDGE)
    bytes.writeInt16LE(Math.round(LOUD * edge * Math.sin(step * at)), at * SAMPLE_BYTES)
  }
  return bytes
}
