import t from 'tap'
import { drawFilm, drawSheet, drawThumbnail, type Film } from '../../../simulator/src/film/film.js'
import { Seed } from '../../../simulator/src/seed.js'
import { decode, probe, without } from '../../helpers/film-tools.js'
import { fc } from '../../helpers/property.js'
import { decodePng } from '../image/decode-png.js'
import { boxesOf } from './boxes.js'

const FILM: Film = { width: 320, height: 180, seconds: 2, prompt: 'A lighthouse', note: 'sim', seed: new Seed('a') }
const PER_SECOND = 8

const SIZES = [
  [1280, 720, 4],
  [1792, 1024, 12],
  [720, 1280, 8],
  [1080, 1920, 1],
  [2048, 2048, 1],
  [2048, 64, 1],
  [64, 64, 60],
  [66, 98, 2],
] as const

for (const [width, height, seconds] of SIZES) {
  t.test(`a film of ${width}x${height} and ${seconds} seconds plays`, { skip: without('ffprobe') }, async t => {
    const file = drawFilm({ ...FILM, width, height, seconds })
    t.match(await probe(file), { codec: 'h264', profile: 'Constrained Baseline', width, height, seconds })
    t.equal((await probe(file)).frames, seconds * PER_SECOND)
    t.equal((await probe(file)).comment, FILM.prompt)
  })
}

t.test(
  'what is seen is what was drawn, to the pixel: the card stands, the bar fills up',
  { skip: without('ffmpeg') },
  async t => {
    const { width, height } = FILM
    const frame = (width * height * 3) / 2
    const pictures = await decode(drawFilm(FILM))
    t.equal(pictures.length, frame * FILM.seconds * PER_SECOND)
    const luma = (picture: number, x: number, y: number) => pictures[picture * frame + y * width + x]
    const still = decodePng(drawThumbnail(FILM))
    const shades = new Map<number, number | undefined>()
    for (let y = 0; y < 160; y += 1) {
      for (let x = 0; x < width; x += 1) {
        const colour = still.at(x, y)
        if (!shades.has(colour)) shades.set(colour, luma(0, x, y))
        if (luma(0, x, y) !== shades.get(colour)) t.fail(`pixel ${x},${y} is another one`)
        if (luma(15, x, y) !== luma(0, x, y)) t.fail(`pixel ${x},${y} changes`)
      }
    }
    t.equal(new Set(shades.values()).size, 3)
    const filled = Array.from({ length: 16 }, (_, picture) => {
      const row = pictures.subarray(picture * frame + 170 * width, picture * frame + 171 * width)
      return row.filter(sample => sample === shades.get(0)).length
    })
    t.equal(filled[0], 0)
    t.equal(filled.at(-1), width)
    t.same(
      filled,
      filled.toSorted((one, other) => one - other),
    )
    t.ok(new Set(filled).size > 10, 'it moves')
  },
)

t.test('any prompt and any size can be decoded', { skip: without('ffmpeg') }, async t => {
  const side = fc.integer({ min: 32, max: 150 }).map(half => 2 * half)
  const films = fc.record({ width: side, height: side, prompt: fc.string({ unit: 'grapheme', maxLength: 300 }) })
  await fc.assert(
    fc.asyncProperty(films, async asked => {
      const pictures = await decode(drawFilm({ ...FILM, ...asked, seconds: 1 }))
      return pictures.length === ((asked.width * asked.height * 3) / 2) * PER_SECOND
    }),
    { numRuns: 15 },
  )
  t.pass()
})

t.test('the same film is the same file, and another one is not', async t => {
  t.ok(drawFilm(FILM).equals(drawFilm({ ...FILM })))
  for (const other of [{ prompt: 'A lighthouse.' }, { width: 322 }, { seconds: 3 }, { note: 'other' }]) {
    t.notOk(drawFilm(FILM).equals(drawFilm({ ...FILM, ...other })))
  }
})

t.test('what describes a film stands before it, and points to it', async t => {
  const file = drawFilm(FILM)
  const top = boxesOf(file)
  t.same(
    top.map(({ type }) => type),
    ['ftyp', 'moov', 'mdat'],
  )
  const within = (...path: readonly string[]): Buffer =>
    path.reduce((bytes, type) => boxesOf(bytes).find(box => box.type === type)?.data ?? Buffer.alloc(0), file)
  const table = ['moov', 'trak', 'mdia', 'minf', 'stbl']
  const sizes = within(...table, 'stsz')
  const total = Array.from({ length: sizes.readUInt32BE(8) }, (_, index) => sizes.readUInt32BE(12 + 4 * index))
  const media = top[2]
  t.equal(
    total.reduce((sum, size) => sum + size, 0),
    media?.data.length,
  )
  t.equal(within(...table, 'stco').readUInt32BE(8), media?.start)
})

t.test('a film is small: its pictures after the first cost next to nothing', async t => {
  const size = (seconds: number) => drawFilm({ ...FILM, width: 1792, height: 1024, seconds }).length
  t.ok(size(12) - size(4) < 4096)
  t.ok(size(4) < 1024 * 1024)
})

t.test('a still and a sheet of it', async t => {
  t.match(decodePng(drawThumbnail(FILM)), { width: 320, height: 180, description: 'A lighthouse' })
  t.match(decodePng(drawSheet({ ...FILM, seconds: 6 })), { width: 320, height: 90 })
  t.match(decodePng(drawSheet({ ...FILM, seconds: 1 })), { width: 80, height: 45 })
})
