import t from 'tap'
import type { PictureOptions } from '../../../simulator/src/image/canvas.js'
import { Canvas } from '../../../simulator/src/image/canvas.js'
import { png } from '../../../simulator/src/image/png.js'
import { decodePng } from './decode-png.js'

const OPTIONS: PictureOptions = {
  palette: [
    [1, 2, 3],
    [4, 5, 6],
  ],
  transparent: false,
  description: 'a card',
}

t.test('a picture comes back as it was drawn: size, palette, pixels', async t => {
  const canvas = new Canvas(5, 3)
  canvas.fill(1, 1, 2, 1, 1)
  const file = decodePng(png(canvas, OPTIONS))
  t.match(file, { width: 5, height: 3, chunks: ['IHDR', 'PLTE', 'iTXt', 'IDAT', 'IEND'], description: 'a card' })
  t.same([...file.palette], [1, 2, 3, 4, 5, 6])
  const rows = [0, 1, 2].map(y => [0, 1, 2, 3, 4].map(x => file.at(x, y)).join(''))
  t.same(rows, ['00000', '01100', '00000'])
})

t.test('the first colour may be transparent', async t => {
  const file = decodePng(png(new Canvas(1, 1), { ...OPTIONS, transparent: true }))
  t.same(file.chunks, ['IHDR', 'PLTE', 'tRNS', 'iTXt', 'IDAT', 'IEND'])
})

t.test('the description is UTF-8 and never holds the byte that ends fields', async t => {
  t.equal(decodePng(png(new Canvas(1, 1), { ...OPTIONS, description: 'a\0ü 漢' })).description, 'aü 漢')
})

t.test('what is drawn outside of the picture is left out', async t => {
  const canvas = new Canvas(4, 4)
  canvas.fill(-5, -5, 7, 7, 1)
  canvas.fill(3, 3, 100, 100, 1)
  canvas.fill(9, 0, 1, 1, 1)
  canvas.text(-3, -3, 'WWWWWW', 2, 0)
  t.equal(canvas.bytes.length, 20)
  t.same(
    [0, 5, 10, 15].map(start => canvas.bytes[start]),
    [0, 0, 0, 0],
    'rows begin as they should',
  )
})
