import t from 'tap'
import { measure } from '../../../simulator/src/image/measure.js'
import { fc } from '../../helpers/property.js'

function png(width: number, height: number): Buffer {
  const sides = Buffer.alloc(8)
  sides.writeUInt32BE(width, 0)
  sides.writeUInt32BE(height, 4)
  return Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d', 'hex'), Buffer.from('IHDR'), sides, Buffer.alloc(9)])
}

function webp(kind: string, at: number, bytes: readonly number[]): Buffer {
  const file = Buffer.alloc(40)
  file.write('RIFF', 0, 'latin1')
  file.write('WEBP', 8, 'latin1')
  file.write(kind, 12, 'latin1')
  file.set(bytes, at)
  return file
}

const JPEG = Buffer.from(
  // A comment first, then a frame of 3 by 5.
  'ffd8fffe0004aaaaffc00011080005000303012200021101031101ffd9',
  'hex',
)

t.test('the size of a PNG, a JPEG and a WebP of each kind', async t => {
  t.same(measure(png(300, 200)), { format: 'png', width: 300, height: 200 })
  t.same(measure(JPEG), { format: 'jpeg', width: 3, height: 5 })
  t.same(measure(webp('VP8 ', 26, [0x40, 0x01, 0xf0, 0x00])), { format: 'webp', width: 320, height: 240 })
  t.same(measure(webp('VP8L', 21, [0x3f, 0xc1, 0x3b, 0x00])), { format: 'webp', width: 320, height: 240 })
  t.same(measure(webp('VP8X', 24, [0x3f, 0x01, 0x00, 0xef, 0x00, 0x00])), { format: 'webp', width: 320, height: 240 })
})

t.test('other bytes than a picture have no size', async t => {
  for (const file of [Buffer.alloc(0), Buffer.from('GIF89a'), Buffer.from('<svg/>'), png(0, 5), JPEG.subarray(0, 12), webp('XXXX', 0, [])]) // biome-ignore format: one line
    t.equal(measure(file), undefined)
})

t.test('any bytes are measured or not, without a crash', async () => {
  const starts = [png(1, 1), JPEG, webp('VP8X', 24, [1]), webp('VP8L', 21, [1])]
  fc.assert(
    fc.property(fc.constantFrom(...starts), fc.nat(60), fc.uint8Array({ maxLength: 60 }), (start, at, rest) => {
      measure(Buffer.concat([start.subarray(0, at), rest]))
    }),
    { numRuns: 2000 },
  )
})
