import t from 'tap'
import { GLYPH_HEIGHT, GLYPH_WIDTH, glyphOf, plain } from '../../../simulator/src/image/font.js'

const PRINTED = Array.from({ length: 95 }, (_, index) => String.fromCharCode(0x20 + index))

t.test('every character of ASCII has a glyph of its own, of the right size', async t => {
  const seen = new Set<string>()
  for (const character of PRINTED) {
    const rows = glyphOf(character)
    t.equal(rows.length, GLYPH_HEIGHT, character)
    t.ok(
      rows.every(row => Number.isInteger(row) && row >= 0 && row < 2 ** GLYPH_WIDTH),
      character,
    )
    seen.add(rows.join())
  }
  t.equal(seen.size, PRINTED.length)
})

t.test('an E looks like one', async t => {
  const drawn = glyphOf('E').map(row => row.toString(2).padStart(GLYPH_WIDTH, '0').replaceAll('0', ' '))
  t.same(drawn, ['11111', '1    ', '1    ', '1111 ', '1    ', '1    ', '11111', '     '])
})

t.test('what has no glyph is a box', async t => {
  for (const character of ['漢', '\u0007', '\u007f', '']) t.same(glyphOf(character), glyphOf('漢'), character)
  t.not(glyphOf('漢').join(), glyphOf('O').join())
})

t.test('accents and curly quotes are written plainly', async t => {
  t.equal(plain(' “Ünïcödé” –\n\tcafé’s… '), '"Unicode" - cafe\'s...')
})
