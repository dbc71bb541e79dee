import t from 'tap'
import { parsePathText, pathText } from '../../src/core/path-text.js'
import { fc } from '../helpers/property.js'

t.test('a path joins plain names with dots and indexes with brackets', async t => {
  t.equal(pathText(['models', 'swift-large', 1, 'upstream']), 'models.swift-large[1].upstream')
})

t.test('a name with other characters is in brackets and quotes', async t => {
  t.equal(pathText(['routes', 'POST /v1/chat/completions', 'schema']), 'routes["POST /v1/chat/completions"].schema')
  t.equal(pathText(['models', 'say "hi"']), 'models["say \\"hi\\""]')
  t.equal(pathText(['models', '']), 'models[""]')
})

t.test('a whole document has the empty path', async t => {
  t.equal(pathText([]), '')
  t.same(parsePathText(''), [])
})

t.test('any path survives the way to text and back', async t => {
  fc.assert(
    fc.property(fc.array(fc.oneof(fc.string({ unit: 'binary' }), fc.nat())), path => {
      t.same(parsePathText(pathText(path)), path)
    }),
  )
})

t.test('what is not a path is not taken for one', async t => {
  for (const text of ['.a', 'a..b', 'a[', 'a[x]', 'a["x]', 'a b']) t.equal(parsePathText(text), undefined, text)
})
