import { deflateSync } from 'node:zlib'
import t from 'tap'
import { opaqueMask } from '../../src/wire/png-mask.js'
import { greysOf, type Pixel, pngChunk, pngOf } from '../helpers/png.js'
import { fc } from '../helpers/property.js'

const pixels = (channels: number, max: number): fc.Arbitrary<readonly (readonly Pixel[])[]> =>
  fc.integer({ min: 1, max: 9 }).chain(width => {
    const channel = fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.integer({ min: 0, max }))
    const pixel = fc.array(channel, { minLength: channels, maxLength: channels })
    return fc.array(fc.array(pixel, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 12 })
  })

t.test('what is fully transparent gets one colour and the rest the other, with every filter of rows', async t => {
  for (const [channels, depth] of [
    [2, 8],
    [2, 16],
    [4, 8],
    [4, 16],
  ] as const) {
    fc.assert(
      fc.property(pixels(channels, 2 ** depth - 1), fc.constantFrom(0 as const, 255 as const), (rows, changed) => {
        const made = opaqueMask(pngOf(rows, depth), changed)
        const wanted = rows.map(row => row.map(pixel => (pixel.at(-1) === 0 ? changed : 255 - changed)))
        if (wanted.flat().includes(changed)) t.same(greysOf(made as Buffer), wanted)
        else t.equal(made, undefined)
      }),
      { numRuns: 60 },
    )
  }
})

t.test('images without transparency, and other formats, stay', async t => {
  t.equal(
    opaqueMask(
      pngOf([
        [
          [0, 0, 0],
          [255, 255, 255],
        ],
      ]),
      0,
    ),
    undefined,
  )
  t.equal(opaqueMask(pngOf([[[0]]]), 0), undefined)
  t.equal(opaqueMask(Buffer.from('/9j/4AAQSkZJRgAB', 'base64'), 0), undefined)
  t.equal(opaqueMask(Buffer.alloc(0), 0), undefined)
})

t.test('what cannot be read is named', async t => {
  const png = pngOf([
    [
      [0, 0, 0, 0],
      [0, 0, 0, 9],
    ],
  ])
  for (const end of [9, 20, 33, 50, png.length - 20]) t.equal(opaqueMask(png.subarray(0, end), 0), 'broken', `${end}`)
  const changed = (at: number, value: number): Buffer => {
    const other = Buffer.from(png)
    other[at] = value
    return other
  }
  t.equal(opaqueMask(changed(16, 1), 0), 'large')
  t.equal(opaqueMask(changed(19, 3), 0), 'broken', 'more pixels than it has')
  t.equal(opaqueMask(changed(28, 1), 0), 'other', 'interlaced')
  t.equal(opaqueMask(changed(24, 4), 0), 'other', 'four bits')
  t.equal(opaqueMask(pngOf([[[0, 0, 0]]], 8, [pngChunk('tRNS', Buffer.alloc(6))]), 0), 'other')
})

t.test('sides without pixels, and too long ones, are refused before anything is inflated', async t => {
  const zeros = deflateSync(Buffer.alloc(20 * 1024 * 1024))
  const sized = (width: number, height: number): Buffer => {
    const head = Buffer.alloc(13)
    head.writeUInt32BE(width, 0)
    head.writeUInt32BE(height, 4)
    head.set([8, 6], 8)
    const chunks = [pngChunk('IHDR', head), pngChunk('IDAT', zeros), pngChunk('IEND', Buffer.alloc(0))]
    return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...chunks])
  }
  const cases = [
    [0, 2 ** 32 - 1, 'broken'],
    [2 ** 32 - 1, 0, 'broken'],
    [0, 0, 'broken'],
    [1, 4096 * 1024, 'large'],
    [4096 * 1024, 1, 'large'],
    [2 ** 32 - 1, 2 ** 32 - 1, 'large'],
  ] as const
  // What zlib inflates needs memory outside of the heap.
  const before = process.memoryUsage().arrayBuffers + process.memoryUsage().external
  for (const [width, height, fault] of cases) {
    t.equal(opaqueMask(sized(width, height), 0), fault, `${width} × ${height}`)
  }
  const added = process.memoryUsage().arrayBuffers + process.memoryUsage().external - before
  t.ok(added < 16 * 1024 * 1024, `${added} bytes were taken`)
})
