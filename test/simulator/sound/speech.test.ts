import t from 'tap'
import { samplesOf, synthesize, type Utterance } from '../../../simulator/src/sound/speech.js'

const HELLO: Utterance = { text: 'Hello, world.', pitch: 220, speed: 1 }

function spoken(utterance: Partial<Utterance> = {}): Buffer {
  return Buffer.concat([...synthesize({ ...HELLO, ...utterance })])
}

t.test('the length follows the text and the speed, and is known beforehand', async t => {
  for (const more of [{}, { speed: 0.25 }, { speed: 4 }, { text: 'a' }, { text: '\u{1f600} 漢' }, { speed: 1.7 }]) {
    t.equal(spoken(more).length, 2 * samplesOf({ ...HELLO, ...more }), JSON.stringify(more))
  }
  t.equal(samplesOf({ ...HELLO, text: 'ab' }), 2 * samplesOf({ ...HELLO, text: 'a' }))
  t.equal(samplesOf({ ...HELLO, text: 'a', speed: 2 }), samplesOf({ ...HELLO, text: 'a' }) / 2)
})

t.test('letters sound, spaces and stops are silent, and no sample clips', async t => {
  t.ok(spoken({ text: ' .' }).every(byte => byte === 0))
  const sound = spoken({ text: 'zebra' })
  const loudest = Math.max(...Array.from({ length: sound.length / 2 }, (_, at) => Math.abs(sound.readInt16LE(2 * at))))
  t.ok(loudest > 8000 && loudest < 10_000, String(loudest))
})

t.test('voices and texts differ; the same is the same', async t => {
  t.ok(spoken().equals(spoken()))
  t.notOk(spoken({ pitch: 110 }).equals(spoken()))
  t.notOk(spoken({ text: 'Hallo, world.' }).equals(spoken()))
})

t.test('a long text comes piece by piece', async t => {
  const sizes = [...synthesize({ ...HELLO, text: 'word '.repeat(800) })].map(piece => piece.length)
  t.ok(sizes.length > 1000)
  t.ok(Math.max(...sizes) < 16 * 1024)
})
