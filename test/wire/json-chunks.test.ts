import t from 'tap'
import type { Json } from '../../src/core/json.js'
import { jsonChunks } from '../../src/wire/json-chunks.js'
import { fc } from '../helpers/property.js'

const PIECE = 256 * 1024

const text = (document: Json): string => [...jsonChunks(document)].join('')

t.test('a small document is one piece', async t => {
  for (const document of ['', 'x', 0, null, true, [], {}, [1, 'a', null], { a: { b: [] } }] satisfies Json[]) {
    t.same([...jsonChunks(document)], [JSON.stringify(document)])
  }
})

t.test('a large document is what JSON.stringify makes of it', async t => {
  const long = '\u{1f600}w\u00f6rd\n"\\\u0001 '.repeat(60_000)
  const documents: Json[] = [
    long,
    { messages: Array.from({ length: 900 }, (_, i) => ({ role: 'user', content: `${i} ${'x'.repeat(700)}` })) },
    { a: [{ b: { c: { d: long, e: [long, [], {}] } } }], z: 1 },
    Array.from({ length: 200_000 }, (_, i) => i),
    Object.fromEntries(Array.from({ length: 50_000 }, (_, i) => [`n"${i}`, i % 3 === 0 ? null : [i]])),
  ]
  for (const document of documents) {
    const pieces = [...jsonChunks(document)]
    t.ok(pieces.length > 1)
    t.ok(Math.max(...pieces.map(({ length }) => length)) < 8 * PIECE, 'no piece is large')
    t.equal(pieces.join(''), JSON.stringify(document))
  }
})

t.test('members that are undefined are left out, as JSON.stringify does it', async t => {
  const document = { a: undefined, b: 'x'.repeat(PIECE), c: undefined, d: [undefined, 'x'.repeat(PIECE)] }
  t.equal(text(document as unknown as Json), JSON.stringify(document))
})

t.test('surrogates at any cut, in pairs and alone', async t => {
  for (const shift of [0, 1, 2, 3]) {
    for (const unit of ['\u{1f600}', '\ud83d', '\ude00', '\ude00\ud83d']) {
      const string = 'x'.repeat(shift) + unit.repeat(PIECE)
      t.ok(text(string) === JSON.stringify(string), `${shift} before ${JSON.stringify(unit)}`)
    }
  }
})

t.test('any value', async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 0, max: 3 }), (value, copies) => {
      const document = {
        value,
        padding: 'x'.repeat(PIECE),
        copies: Array.from({ length: copies }, () => value),
      } as Json
      return text(document) === JSON.stringify(document)
    }),
    { numRuns: 300 },
  )
})
