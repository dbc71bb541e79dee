import t from 'tap'
import { measure } from '../../../simulator/src/image/measure.js'
import { IMAGE_FORMATS, type ImageFormat } from '../../../simulator/src/image/picture.js'
import type { Picture } from '../../../simulator/src/image/shapes.js'
import { decodePicture, without } from '../../helpers/film-tools.js'
import { decodePng } from './decode-png.js'

const WHOLE: Picture = {
  ...{ width: 320, height: 200, colours: [[0x2f, 0x6f, 0x9f]], share: 1 },
  ...{ transparent: false, description: 'A lighthouse at night' },
}
/** Sides that are not whole blocks, extreme ones, and colours at the ends of their range. */
const PICTURES: readonly Picture[] = [
  WHOLE,
  { ...WHOLE, width: 65, height: 71 },
  { ...WHOLE, width: 1, height: 1 },
  { ...WHOLE, width: 2048, height: 64 },
  { ...WHOLE, transparent: true },
  { ...WHOLE, colours: [[0, 0, 0]] },
  { ...WHOLE, colours: [[255, 255, 255]] },
  { ...WHOLE, colours: [[255, 0, 0]] },
]

for (const format of Object.keys(IMAGE_FORMATS) as ImageFormat[]) {
  const draw = IMAGE_FORMATS[format]
  t.test(`${format}: its size can be read, and the same picture is the same small file`, async t => {
    for (const picture of [...PICTURES, { ...WHOLE, width: 2048, height: 2048 }]) {
      const file = draw(picture)
      t.match(measure(file), { format, width: picture.width, height: picture.height })
      t.ok(file.equals(draw(picture)))
      t.ok(file.length < 150_000, `${file.length} bytes`)
    }
  })

  t.test(`${format}: a real decoder sees the colour in every pixel`, { skip: without('ffmpeg') }, async t => {
    for (const picture of PICTURES) {
      const { width, height, colours, transparent } = picture
      const seen = await decodePicture(draw(picture))
      t.equal(seen.length, width * height * 4)
      if (format === 'png') continue
      const wanted = [...colours[0], transparent && format === 'webp' ? 0 : 255]
      const furthest = seen.reduce((most, value, at) => Math.max(most, Math.abs(value - (wanted[at % 4] ?? 0))), 0)
      t.ok(furthest <= (format === 'webp' ? 0 : 3), `${JSON.stringify(colours)}: ${furthest}`)
    }
  })
}

t.test('a PNG file: a frame of its colour, filled up to its progress', async t => {
  const inked = [0, 0.5, 1].map(share => {
    const file = decodePng(IMAGE_FORMATS.png({ ...WHOLE, share }))
    t.match(file, { chunks: ['IHDR', 'PLTE', 'iTXt', 'IDAT', 'IEND'], description: WHOLE.description })
    t.same([...file.palette.subarray(3)], WHOLE.colours[0])
    t.same([file.at(0, 0), file.at(319, 199), file.at(160, 190)], [1, 1, 0])
    return Array.from({ length: 200 }, (_, y) => file.at(160, y)).filter(colour => colour === 1).length
  })
  t.same(
    inked,
    inked.toSorted((one, other) => one - other),
  )
  t.equal(new Set(inked).size, 3)
})

t.test(
  'a PNG file: the paper may be transparent, and the description never holds the byte that ends fields',
  async t => {
    const file = decodePng(IMAGE_FORMATS.png({ ...WHOLE, transparent: true, description: 'a\0ü 漢' }))
    t.same(file.chunks, ['IHDR', 'PLTE', 'tRNS', 'iTXt', 'IDAT', 'IEND'])
    t.equal(file.description, 'aü 漢')
  },
)

t.test('a JPEG file has the prompt as its comment, cut where it is too long', async t => {
  t.ok(IMAGE_FORMATS.jpeg(WHOLE).includes(WHOLE.description))
  t.match(measure(IMAGE_FORMATS.jpeg({ ...WHOLE, description: 'x'.repeat(100_000) })), { width: 320 })
})
