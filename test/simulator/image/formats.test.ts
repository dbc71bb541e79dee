import t from 'tap'
import { type Card, drawCard, paintCard, paletteOf } from '../../../simulator/src/image/card.js'
import { measure } from '../../../simulator/src/image/measure.js'
import { Seed } from '../../../simulator/src/seed.js'
import { decodePicture, without } from '../../helpers/film-tools.js'

const CARD: Card = {
  width: 320,
  height: 200,
  prompt: 'A lighthouse at night',
  note: 'sim 1/1',
  share: 1,
  transparent: false,
  seed: new Seed('card'),
}
/** The last is one colour; sides that are no whole blocks, and a wide one. */
const CARDS: readonly Card[] = [
  CARD,
  { ...CARD, width: 65, height: 71 },
  { ...CARD, width: 1024, height: 64 },
  { ...CARD, transparent: true },
  { ...CARD, width: 64, height: 64, prompt: ' ', note: '' },
]

/** Red, green, blue and alpha of every pixel. */
function painted(card: Card): Buffer {
  const { width, height, bytes } = paintCard(card)
  const palette = paletteOf(card.seed)
  const pixels = Buffer.alloc(width * height * 4)
  for (let at = 0; at < width * height; at += 1) {
    const colour = bytes[Math.floor(at / width) * (width + 1) + 1 + (at % width)] ?? 0
    pixels.set([...(palette[colour] ?? []), card.transparent && colour === 0 ? 0 : 255], at * 4)
  }
  return pixels
}

function meanDifference(one: Buffer, other: Buffer): number {
  let sum = 0
  for (let at = 0; at < one.length; at += 1) sum += Math.abs((one[at] ?? 0) - (other[at] ?? 0))
  return sum / one.length
}

for (const format of ['png', 'jpeg', 'webp'] as const) {
  t.test(`${format}: its size can be read, and the same card is the same file`, async t => {
    for (const card of CARDS) {
      const file = drawCard(card, format)
      t.match(measure(file), { format, width: card.width, height: card.height })
      t.ok(file.equals(drawCard(card, format)))
    }
  })

  t.test(`${format}: a real decoder sees the card`, { skip: without('ffmpeg') }, async t => {
    for (const card of CARDS) {
      if (format === 'jpeg' && card.transparent) continue
      const seen = await decodePicture(drawCard(card, format))
      const drawn = painted(card)
      t.equal(seen.length, drawn.length)
      if (format !== 'jpeg') t.ok(seen.equals(drawn))
      else t.ok(meanDifference(seen, drawn) <= 2)
    }
  })
}

t.test('a JPEG file has the prompt as its comment', async t => {
  t.ok(drawCard(CARD, 'jpeg').includes(CARD.prompt))
})
