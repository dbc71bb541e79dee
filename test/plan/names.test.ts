import t from 'tap'
import { isName, NameSet } from '../../src/plan/names.js'

t.test('a name has 1 to 256 bytes', async t => {
  t.equal(isName(''), false)
  t.equal(isName('n'), true)
  t.equal(isName('n'.repeat(256)), true)
  t.equal(isName('n'.repeat(257)), false)
})

t.test('bytes count, not characters', async t => {
  t.equal(isName('ü'.repeat(128)), true)
  t.equal(isName('ü'.repeat(129)), false)
})

for (const [what, name] of [
  ['a line feed', 'a\nb'],
  ['NUL', 'a\0'],
  ['DEL', '\x7f'],
  ['a C1 control character', 'a\x85b'],
  ['half a surrogate pair', 'a\ud800'],
] as const) {
  t.test(`a name does not hold ${what}`, async t => t.equal(isName(name), false))
}

t.test('a name may hold spaces, slashes, colons and letters of any script', async t => {
  for (const name of ['a b', 'org/name:free', 'sim-text?status=429', '模型', '😀']) t.equal(isName(name), true, name)
})

t.test('a set holds its names and what its globs match, and nothing near them', async t => {
  const set = new NameSet(['embed', 'swift-*'])
  t.ok(set.has('embed') && set.has('swift-small'))
  for (const name of ['Embed', 'embed ', 'embed2', 'swift', 'constructor', '__proto__']) t.notOk(set.has(name), name)
})

t.test('a set of nothing holds nothing', async t => t.notOk(new NameSet([]).has('')))
