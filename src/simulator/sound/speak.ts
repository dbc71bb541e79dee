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

/** A stretch of one tone. */
export interface Tone {
  /** Hertz; 0 is silence. */
  readonly frequency: number
  readonly samples: number
}

/** The tones of a text, some tenths of a second at a time. Each letter has one of its own. */
export function* tonesOf({ text, pitch, speed }: Utterance): Generator<readonly Tone[]> {
  let piece: Tone[] = []
  let length = 0
  for (const character of text) {
    const samples = samplesFor(character, speed)
    piece.push({ frequency: frequencyOf(character, pitch), samples })
    length += samples
    if (length < PIECE) continue
    yield piece
    piece = []
    length = 0
  }
  if (piece.length > 0) yield piece
}

/** The samples, in little-endian bytes. */
export function* speak(utterance: Utterance): Generator<Buffer> {
  for (const tones of tonesOf(utterance)) {
    yield Buffer.concat(tones.map(({ frequency, samples }) => tone(frequency, samples)))
  }
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
