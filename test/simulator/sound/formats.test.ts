import t from 'tap'
import { SOUND_FORMATS, type SoundFormat } from '../../../simulator/src/sound/formats.js'
import { samplesOf, synthesize, type Utterance } from '../../../simulator/src/sound/speech.js'
import { transcribeSound } from '../../../simulator/src/sound/transcription.js'
import { SAMPLE_RATE } from '../../../simulator/src/sound/wav.js'
import { decodeSound, probeSound, without } from '../../helpers/film-tools.js'

const CODECS: Readonly<Record<string, string>> = {
  wav: 'pcm_s16le',
  mp3: 'mp3',
  opus: 'opus',
  aac: 'aac',
  flac: 'flac',
}
const HELLO: Utterance = { text: 'Hello, wörld! This is said.', pitch: 220, speed: 1 }
const UTTERANCES: readonly Utterance[] = [
  HELLO,
  { ...HELLO, text: 'a' },
  { ...HELLO, text: 'a', speed: 4 },
  { ...HELLO, speed: 0.25 },
  { ...HELLO, speed: 1.7, pitch: 330 },
  { ...HELLO, text: '\u{1f600}'.repeat(300), speed: 4 },
  { ...HELLO, text: 'Words, words. '.repeat(60) },
]

/** Decoders add up to two frames of the largest size at either end. */
const SLACK_SECONDS = 0.1

function written(format: SoundFormat, utterance: Utterance): Buffer {
  return Buffer.concat([...format.pieces(utterance)])
}

for (const [name, format] of Object.entries(SOUND_FORMATS)) {
  t.test(`${name}: long texts come piece by piece`, async t => {
    const sizes = [...format.pieces({ ...HELLO, text: 'word '.repeat(800) })].map(piece => piece.length)
    t.ok(sizes.length > 1000 && Math.max(...sizes) < 16 * 1024)
  })

  if (name === 'pcm') continue
  t.test(`${name}: it holds the text, and tells how long it takes`, async t => {
    for (const utterance of UTTERANCES) {
      const heard = transcribeSound(written(format, utterance))
      t.equal(heard?.text, utterance.text)
      t.ok(Math.abs((heard?.duration ?? 0) - samplesOf(utterance) / SAMPLE_RATE) < SLACK_SECONDS)
    }
  })

  t.test(`${name}: a real decoder reads it whole, without a complaint`, { skip: without('ffmpeg') }, async t => {
    for (const utterance of [HELLO, { ...HELLO, text: 'Words, words. '.repeat(60) }]) {
      const file = written(format, utterance)
      const seconds = samplesOf(utterance) / SAMPLE_RATE
      const probed = await probeSound(file)
      t.equal(probed.codec, CODECS[name])
      t.ok(Math.abs(probed.seconds - seconds) < SLACK_SECONDS, `${probed.seconds} of ${seconds}`)
      const samples = await decodeSound(file)
      t.ok(Math.abs(samples.length / SAMPLE_RATE - seconds) < SLACK_SECONDS)
      if (name !== 'opus')
        t.ok(
          samples.some(sample => Math.abs(sample) > 1000),
          'it can be heard',
        )
    }
  })
}

t.test('flac holds the very samples', { skip: without('ffmpeg') }, async t => {
  const samples = await decodeSound(written(SOUND_FORMATS.flac, HELLO))
  t.ok(Buffer.from(samples.buffer).equals(Buffer.concat([...synthesize(HELLO)])))
})
