import t from 'tap'
import { PlacedValues } from '../../src/wire/placed-values.js'

const PATHS = [['usage'], ['response', 'usage'], ['list', '*', 'end']]

function read(text: string, size = Number.POSITIVE_INFINITY, paths: string[][] = PATHS): unknown[] {
  const bytes = Buffer.from(text)
  const values = new PlacedValues(paths)
  for (let at = 0; at < bytes.length; at += size) values.push(bytes, at, Math.min(at + size, bytes.length))
  return [values.isWhole, ...paths.map((_, index) => values.value(index))]
}

t.test('values are read at their places, however the document is cut', async t => {
  const text =
    ' { "usage" : {"a": [1, "}"]} , "x":{"usage":1,"list":[{"end":2}]}, "response":{"usage":"a\\"b","y":[]},\n' +
    '"list":[{"end":null}, {"x":[{"end":3}]}, {"end": 4.5 }, {"end":null}, [], 7, "end"] } \n'
  for (const size of [1, 2, 3, 7, 16, 1000])
    t.same(read(text, size), [true, { a: [1, '}'] }, 'a"b', 4.5], `${size} bytes`)
})

t.test('scalars, and names with escapes', async t => {
  for (const value of ['0', '-1.5e3', 'true', 'null', '"x"', '[]', '{}'])
    for (const text of [`{"usage":${value}}`, `{"\\u0075sage" :\t${value} ,"a":0}`])
      for (const size of [1, 1000]) t.same(read(text, size).slice(0, 2), [true, JSON.parse(value)], text)
})

t.test('an array of documents has places, too, where a path says so', async t => {
  t.same(read('[{"a":1},{"a":null},2]', 3, [['*', 'a']]), [true, 1])
  t.same(read('{"m":{"x":{"a":1},"y":0}}', 3, [['m', '*', 'a']]), [true, 1])
})

t.test('what is not closed is not whole', async t => {
  for (const text of [
    '{"a":[[[[1]]]',
    `{"a":${'['.repeat(1000)}${']'.repeat(999)}}`,
    '{"a":"}',
    '{"a":"\\"}',
    '{}]',
    '{} x',
    '',
    '"{}"',
  ])
    for (const size of [1, 5, 1000]) t.equal(read(text, size)[0], false, text.slice(0, 40))
  for (const text of ['{}', ' [ ] \r\n', '{"a":"]"}', `${'['.repeat(1000)}${']'.repeat(1000)}`, '{"a":1}\n{"b":2}\n'])
    for (const size of [1, 5, 1000]) t.equal(read(text, size)[0], true, text.slice(0, 40))
})

t.test('a value that is too long, and a key that is, are passed over', async t => {
  for (const size of [1000, 100_000]) {
    t.same(read(`{"usage":"${'x'.repeat(20_000)}","response":{"usage":1}}`, size), [true, undefined, 1, undefined])
    t.same(read(`{"${'usage'.repeat(1000)}":1,"usage":2}`, size).slice(0, 2), [true, 2])
  }
})
