import t from 'tap'
import { wavOf } from '../../src/codecs/audio/sound.js'
import { durationOf } from '../../src/wire/sound.js'

const HEAD_BYTES = 44

function recording(seconds: number, rate: number, channels = 1): Buffer {
  return wavOf({ samples: Buffer.alloc(seconds * rate * channels * 2), rate, channels })
}

/** The head with one number of two or four bytes in another place. */
function changed(file: Buffer, at: number, value: number, bytes: 2 | 4 = 2): Buffer {
  const copy = Buffer.from(file)
  copy.writeUIntLE(value, at, bytes)
  return copy
}

t.test('uncompressed sound lasts as long as its head says', async t => {
  t.same(durationOf(recording(3, 16_000)), { most: 3, likely: 3 })
  t.same(durationOf(recording(2, 44_100, 2)), { most: 2, likely: 2 })
  const whole = recording(60, 8000)
  const file = { size: whole.length, head: whole.subarray(0, 64) }
  t.same(durationOf([file, file]), { most: 120, likely: 120 }, 'all files together')
  t.same(durationOf(changed(recording(4, 16_000), 20, 3)), { most: 4, likely: 4 }, 'floats')
})

t.test('what follows an extensible format says whether it is compressed', async t => {
  const plain = recording(10, 16_000)
  const extensible = Buffer.concat([changed(plain, 20, 0xfffe).subarray(0, 36), Buffer.alloc(24), plain.subarray(36)])
  t.same(durationOf(changed(extensible, 44, 1)).most, 11, 'its longer head counts as sound')
  t.ok(durationOf(changed(extensible, 44, 0x55)).most > 300)
})

t.test('a head that contradicts itself lasts as long as it may', async t => {
  const file = recording(6, 16_000)
  t.equal(durationOf(changed(file, 32, 400)).most, 6, 'a larger frame')
  t.equal(durationOf(changed(file, 22, 8)).most, 6, 'more channels')
  t.equal(durationOf(changed(file, 28, 9_000_000, 4)).most, 6, 'more bytes a second')
  t.equal(durationOf(changed(file, 28, 16_000, 4)).most, 12, 'fewer bytes a second')
  t.equal(durationOf(changed(file, 24, 8000, 4)).most, 12, 'fewer samples a second')
})

t.test('everything else lasts as long as its bytes may, and most likely a quarter of it', async t => {
  const file = recording(1, 16_000)
  const others = [
    Buffer.from('ID3'),
    Buffer.alloc(0),
    file.subarray(0, HEAD_BYTES - 1),
    changed(file, 20, 0x55),
    changed(file, 24, 0, 4),
    changed(file, 32, 0),
    changed(file, 12, 0x4b4e, 2),
  ]
  for (const head of others) t.same(durationOf([{ size: 8000, head }]), { most: 8, likely: 2 })
  const loud = changed(changed(changed(file, 28, 9e9 % 2 ** 32, 4), 24, 9e8, 4), 32, 64)
  t.same(durationOf([{ size: 8000, head: changed(loud, 22, 32) }]), { most: 8, likely: 2 }, 'more than anyone records')
  t.same(durationOf([]), { most: 1, likely: 1 }, 'a form that names its sound elsewhere')
})
