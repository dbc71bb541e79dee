import { flac, flacLength } from './flac.js'
import { aac, mp3 } from './framed.js'
import { opus, opusLength } from './opus.js'
import { samplesOf, synthesize, type Utterance } from './speech.js'
import { SAMPLE_BYTES, wavHead } from './wav.js'

/** A way to write what is said. */
export interface SoundFormat {
  /** Its media type. */
  readonly type: string
  /** Bytes in all. */
  readonly length: (utterance: Utterance) => number
  /** Some tenths of a second at a time. */
  readonly pieces: (utterance: Utterance) => Iterable<Buffer>
}

/** By the names that the speech protocol has for them. */
export const SOUND_FORMATS = {
  wav: { type: 'audio/wav', length: wavLength, pieces: wav },
  pcm: { type: 'audio/pcm', length: pcmLength, pieces: synthesize },
  mp3: { type: 'audio/mpeg', ...mp3 },
  opus: { type: 'audio/ogg', length: opusLength, pieces: opus },
  aac: { type: 'audio/aac', ...aac },
  flac: { type: 'audio/flac', length: flacLength, pieces: flac },
} as const satisfies Record<string, SoundFormat>

function pcmLength(utterance: Utterance): number {
  return samplesOf(utterance) * SAMPLE_BYTES
}

function wavLength(utterance: Utterance): number {
  return head(utterance).length + pcmLength(utterance)
}

function* wav(utterance: Utterance): Generator<Buffer> {
  yield head(utterance)
  yield* synthesize(utterance)
}

function head(utterance: Utterance): Buffer {
  return wavHead(utterance.text, pcmLength(utterance))
}
