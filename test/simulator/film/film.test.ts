import t from 'tap'
import { drawFilm, drawSheet, drawThumbnail, type Film } from '../../../simulator/src/film/film.js'
import { Seed } from '../../../simulator/src/seed.js'
import { decode, probe, without } from '../../helpers/film-tools.js'
import { fc } from '../../helpers/property.js'
import { decodePng } from '../image/decode-png.js'
import { boxesOf } from './boxes.js'

const FILM: Film = { width: 320, height: 180, seconds: 2, prompt: 'A lighthouse', seed: new Seed('a') }
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

t.test('one colour is seen in every picture, to the pixel', { skip: without('ffmpeg') }, async t => {
  for (const size of [{}, { width: 66, height: 98 }, { width: 2048, height: 64 }]) {
    const film = { ...FILM, ...size }
    const frame = (film.width * film.height * 3) / 2
    const pictures = await decode(drawFilm(film))
    t.equal(pictures.length, frame * FILM.seconds * PER_SECOND)
    const luma = pictures.subarray(0, film.width * film.height)
    t.ok(luma.every(sample => sample === luma[0]))
    for (let at = frame; at < pictures.length; at += frame) {
      t.ok(pictures.subarray(at, at + frame).equals(pictures.subarray(0, frame)))
    }
  }
})

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
  for (const other of [{ prompt: 'A lighthouse.' }, { width: 322 }, { seconds: 3 }]) {
    t.notOk(drawFilm(FILM).equals(drawFilm({ ...FILM, ...other })))
  }
})

t.test('the description of a film comes first and points to its pictures', async t => {
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
