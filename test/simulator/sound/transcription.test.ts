import t from 'tap'
import { transcribeSound } from '../../../simulator/src/sound/transcription.js'
import { wavHead } from '../../../simulator/src/sound/wav.js'
import { fc } from '../../helpers/property.js'

function wav(text: string, samples: Buffer): Buffer {
  return Buffer.concat([wavHead(text, samples.length), samples])
}

const SECOND = Buffer.alloc(48_000, 7)

t.test('speech of the simulator: its text, and how long it takes', async t => {
  t.same(transcribeSound(wav('Hällo.', SECOND)), { container: 'wav', duration: 1, text: 'Hällo.' })
})

t.test('silence without a text is nothing said; sound without one is not understood', async t => {
  const mute = (samples: Buffer): Buffer => {
    const file = wav('x', samples)
    file.write('JUNK', file.indexOf('LIST'), 'latin1')
    return file
  }
  t.match(transcribeSound(mute(Buffer.alloc(24_000))), { duration: 0.5, text: '' })
  t.match(transcribeSound(mute(SECOND)), { duration: 1, text: undefined })
})

t.test('other containers are known by how they begin', async t => {
  for (const [start, container] of [
    ['ID3', 'mp3'],
    ['\xff\xfb', 'mp3'],
    ['OggS', 'ogg'],
    ['fLaC', 'flac'],
    ['\0\0\0\x20ftypM4A', 'm4a'],
    ['\x1a\x45\xdf\xa3', 'webm'],
  ] as const) {
    const file = Buffer.concat([Buffer.from(start, 'latin1'), Buffer.alloc(16_000)])
    t.match(transcribeSound(file), { container, text: undefined }, container)
    t.equal(Math.round(transcribeSound(file)?.duration ?? 0), 1)
  }
})

t.test('other bytes than sound are refused', async t => {
  for (const file of [
    Buffer.alloc(0),
    Buffer.from('hello'),
    Buffer.from('RIFF\0\0\0\0WAVE'),
    Buffer.from('RIFF\0\0\0\0WEBP'),
  ])
    t.equal(transcribeSound(file), undefined)
})

t.test('any bytes are heard or not, without a crash', async () => {
  const whole = wav('abc', Buffer.alloc(20, 1))
  fc.assert(
    fc.property(fc.nat(whole.length), fc.uint8Array({ maxLength: 40 }), (at, rest) => {
      transcribeSound(Buffer.concat([whole.subarray(0, at), rest, whole.subarray(at + rest.length)]))
    }),
    { numRuns: 2000 },
  )
})
