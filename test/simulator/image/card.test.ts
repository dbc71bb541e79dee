import t from 'tap'
import { type Card, drawCard } from '../../../simulator/src/image/card.js'
import { glyphOf } from '../../../simulator/src/image/font.js'
import { Seed } from '../../../simulator/src/seed.js'
import { type Decoded, decodePng } from './decode-png.js'

const CARD: Card = {
  width: 320,
  height: 200,
  prompt: 'Hello card',
  note: 'note',
  share: 1,
  transparent: false,
  seed: new Seed('a'),
}
const INK = 1

function draw(card: Partial<Card> = {}): Decoded {
  return decodePng(drawCard({ ...CARD, ...card }))
}

/** Whether the text stands at a place in letters of that size. */
function reads({ at }: Decoded, text: string, x: number, y: number, scale: number): boolean {
  return [...text].every((character, index) =>
    glyphOf(character).every((dots, row) =>
      [16, 8, 4, 2, 1].every((bit, column) => {
        const isInk = at(x + (index * 6 + column) * scale, y + row * scale) === INK
        return isInk === ((dots & bit) !== 0)
      }),
    ),
  )
}

t.test('the words of the prompt can be read on it, in large letters', async t => {
  const card = draw()
  t.match(card, { width: 320, height: 200, description: 'Hello card' })
  t.ok(reads(card, 'Hello card', 10, 10, 4), 'in one line')
  t.notOk(reads(card, 'Hallo card', 10, 10, 4))
})

t.test('more words come in smaller letters and in several lines', async t => {
  const card = draw({ prompt: 'The quick brown fox jumps over the lazy dog. '.repeat(3) })
  t.ok(reads(card, 'The quick brown fox', 10, 10, 2))
})

t.test('a prompt that does not fit is cut, however long it is and whatever it holds', async t => {
  for (const prompt of ['word '.repeat(6000), 'x'.repeat(32_000), '漢'.repeat(500), '\u{1f600} \u0301\u0301', ' ']) {
    t.equal(draw({ prompt }).width, 320, prompt.slice(0, 10))
  }
})

t.test('any size is drawn, and flat areas pack well', async t => {
  for (const [width, height] of [
    [64, 64],
    [64, 2048],
    [2048, 64],
    [2048, 2048],
  ] as const) {
    const file = drawCard({ ...CARD, width, height })
    t.match(decodePng(file), { width, height })
    t.ok(file.length < 100_000, `${file.length} bytes`)
  }
})

t.test('the same card is the same bytes; a share of it shows less ink', async t => {
  t.ok(drawCard(CARD).equals(drawCard(CARD)))
  const ink = (card: Decoded): number => {
    let count = 0
    for (let y = 0; y < card.height; y += 1)
      for (let x = 0; x < card.width; x += 1) count += Number(card.at(x, y) === INK)
    return count
  }
  const [none, half, whole] = [0, 0.5, 1].map(share => ink(draw({ share })))
  t.equal(none, 0)
  t.ok((half ?? 0) > 0 && (half ?? 0) < (whole ?? 0))
})
