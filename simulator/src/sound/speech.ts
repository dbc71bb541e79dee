import { SAMPLE_BYTES, SAMPLE_RATE } from './wav.js'

export interface Utterance {
  readonly text: string
  /** Hertz of the lowest tone. */
  readonly pitch: number
  /** 1 is normal speed, 2 twice as fast. */
  readonly speed: number
}

/** Durations of one character at speed 1. */
const LETTER_MS = 60
const SPACE_MS = 40
const PUNCTUATION_MS = 120

const TONES = 24
const AMPLITUDE = 9000
/** Fade-in and fade-out of each tone, to avoid clicks. */
const FADE_SAMPLES = 120
/** A chunk ends with the character that reaches a tenth of a second. */
const CHUNK_SAMPLES = SAMPLE_RATE / 10

/** Number of samples of a spoken text, from its characters and speed. */
export function samplesOf({ text, speed }: Utterance): number {
  let samples = 0
  for (const character of text) samples += samplesFor(character, speed)
  return samples
}

/** A stretch of one tone. */
interface Tone {
  /** Hertz; 0 is silence. */
  readonly frequency: number
  readonly samples: number
}

/** The tones of a text, in chunks of about a tenth of a second. Each letter has its own tone. */
export function* tonesOf({ text, pitch, speed }: Utterance): Generator<readonly Tone[]> {
  let piece: Tone[] = []
  let length = 0
  for (const character of text) {
    const samples = samplesFor(character, speed)
    piece.push({ frequency: frequencyOf(character, pitch), samples })
    length += samples
    if (length < CHUNK_SAMPLES) continue
    yield piece
    piece = []
    length = 0
  }
  if (piece.length > 0) yield piece
}

/** Samples as little-endian bytes. */
export function* synthesize(utterance: Utterance): Generator<Buffer> {
  for (const tones of tonesOf(utterance)) {
    yield Buffer.concat(tones.map(({ frequency, samples }) => tone(frequency, samples)))
  }
}

function samplesFor(character: string, speed: number): number {
  const milliseconds = /\s/u.test(character) ? SPACE_MS : /\p{P}/u.test(character) ? PUNCTUATION_MS : LETTER_MS
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
    const edge = Math.min(1, at / FADE_SAMPLES, (length - at) / FADE_SAMPLES)
    bytes.writeInt16LE(Math.round(AMPLITUDE * edge * Math.sin(step * at)), at * SAMPLE_BYTES)
  }
  return bytes
}
