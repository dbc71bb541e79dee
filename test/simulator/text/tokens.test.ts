import t from 'tap'
import { countTokens, tokenize } from '../../../simulator/src/text/tokens.js'
import { fc } from '../../helpers/property.js'

t.test('a token is up to four letters with the space before them, or one other character', async t => {
  t.same(tokenize('Hello, world!'), ['Hell', 'o', ',', ' worl', 'd', '!'])
  t.same(tokenize('a  b\n\n1234567'), ['a', ' ', ' b', '\n', '\n', '1234', '567'])
  t.same(tokenize(''), [])
})

t.test('letters beyond ASCII count as letters, and no pair of surrogates is torn', async t => {
  t.same(tokenize('grüße'), ['grüß', 'e'])
  t.same(tokenize('abc😀d'), ['abc😀', 'd'])
})

t.test('property: the tokens of a text, joined, are the text; counting agrees with splitting', async t => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), text => {
      const tokens = tokenize(text)
      return tokens.join('') === text && countTokens(text) === tokens.length
    }),
  )
  t.pass()
})

t.test('counting 4 MiB takes linear time and makes no list', async t => {
  t.equal(countTokens('abcd '.repeat(800_000)), 800_001)
})
