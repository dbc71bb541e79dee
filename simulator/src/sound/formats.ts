import { flac } from './flac.js'
import { aac, mp3 } from './framed.js'
import { opus } from './opus.js'
import { samplesOf, synthesize, type Utterance } from './speech.js'
import { SAMPLE_BYTES, wavHead } from './wav.js'

/**
 * A way to write what is said.
 * @testonly
 */
export interface SoundFormat {
  /** Its media type. */
  readonly type: string
  /** Some tenths of a second at a time. */
  readonly pieces: (utterance: Utterance) => Iterable<Buffer>
}

/** By the names that the speech protocol has for them. */
export const SOUND_FORMATS = {
  wav: { type: 'audio/wav', pieces: wav },
  pcm: { type: 'audio/pcm', pieces: synthesize },
  mp3: { type: 'audio/mpeg', pieces: mp3 },
  opus: { type: 'audio/opus', pieces: opus },
  aac: { type: 'audio/aac', pieces: aac },
  flac: { type: 'audio/flac', pieces: flac },
} as const satisfies Record<string, SoundFormat>

function* wav(utterance: Utterance): Generator<Buffer> {
  yield wavHead(utterance.text, samplesOf(utterance) * SAMPLE_BYTES)
  yield* synthesize(utterance)
}
