import t from 'tap'
import { Glob, isGlob, overlap } from '../../src/core/glob.js'
import { fc } from '../helpers/property.js'

const CAPTURES: readonly (readonly [pattern: string, text: string, star: string | undefined])[] = [
  ['swift-*', 'swift-small', 'small'],
  ['swift-*', 'swift-', ''],
  ['swift-*', 'swift', undefined],
  ['swift-*', 'a-swift-small', undefined],
  ['*-mini', 'o3-mini', 'o3'],
  ['*-mini', 'o3-mini-2', undefined],
  ['*', '', ''],
  ['*', 'anything at all', 'anything at all'],
  ['a*a', 'a', undefined],
  ['a*a', 'aa', ''],
  ['groq/*', 'groq/meta/l', 'meta/l'],
  ['a*b*c', 'aXbYbZc', 'X'],
  ['a**c', 'abc', 'b'],
  ['a*bc*c', 'abc', undefined],
  ['sim?*', 'sim?status=1', 'status=1'],
  ['s.m', 'sim', undefined],
  ['exact', 'exact', ''],
  ['exact', 'Exact', undefined],
]

for (const [pattern, text, star] of CAPTURES) {
  t.test(`${pattern} on "${text}" captures ${star === undefined ? 'nothing: no match' : `"${star}"`}`, async t => {
    const glob = new Glob(pattern)
    t.equal(glob.capture(text), star)
    t.equal(glob.matches(text), star !== undefined)
  })
}

t.test('a glob matches exactly what the same pattern matches as a regular expression', async t => {
  const letters = fc.stringMatching(/^[ab*]{0,8}$/)
  fc.assert(
    fc.property(letters, fc.stringMatching(/^[ab]{0,12}$/), (pattern, text) => {
      const expression = new RegExp(`^${pattern.replaceAll('*', '[ab]*')}$`)
      return new Glob(pattern).matches(text) === expression.test(text)
    }),
    { numRuns: 2000 },
  )
  t.pass('for 2000 pairs')
})

t.test('? is a character like any other unless asked for', async t => {
  t.notOk(new Glob('a?').matches('ab'))
  t.ok(new Glob('a?').matches('a?'))
})

t.test('a file glob matches exactly what the same pattern matches as a regular expression', async t => {
  const letters = fc.stringMatching(/^[ab*?]{0,8}$/)
  fc.assert(
    fc.property(letters, fc.stringMatching(/^[ab?]{0,12}$/), (pattern, text) => {
      const expression = new RegExp(`^${pattern.replaceAll('?', '[ab?]').replaceAll('*', '[ab?]*')}$`)
      return new Glob(pattern, true).matches(text) === expression.test(text)
    }),
    { numRuns: 2000 },
  )
  t.pass('for 2000 pairs')
})

t.test('F-C12 a pattern with many stars on 1 MiB looks at each piece of text once', async t => {
  const glob = new Glob(`${'a*'.repeat(50)}b`)
  t.equal(glob.matches('a'.repeat(1 << 20)), false)
  t.equal(glob.matches(`${'a'.repeat(1 << 20)}b`), true)
})

const MEETINGS: readonly (readonly [one: string, other: string, common: boolean])[] = [
  ['gpt-*', 'gpt-4*', true],
  ['gpt-4*', 'gpt-*', true],
  ['*-mini', 'gpt-*', true],
  ['a*b', 'b*a', false],
  ['a*', 'b*', false],
  ['*', 'anything', true],
  ['exact', 'exact', true],
  ['exact', 'other', false],
  ['', '*', true],
  ['', 'a', false],
  ['a*c', 'ac', true],
  ['ab*ba', 'aba', false],
  ['😀', '😀', true],
  ['😀*', '*😀', true],
  ['😀', '😁', false],
  ['\ud83d*', '😀', true],
]

for (const [one, other, common] of MEETINGS) {
  t.test(`${one} and ${other} have ${common ? 'a name' : 'no name'} in common`, async t => {
    t.equal(overlap(one, other), common)
    t.equal(overlap(other, one), common)
    if (!isGlob(one)) t.equal(overlap(one, other), new Glob(other).matches(one))
  })
}

t.test('two globs overlap exactly where some name matches both', async t => {
  const letters = fc.stringMatching(/^[ab*]{0,4}$/)
  const names = [...namesUpTo(8)]
  fc.assert(
    fc.property(letters, letters, (one, other) => {
      const [first, second] = [new Glob(one), new Glob(other)]
      return overlap(one, other) === names.some(name => first.matches(name) && second.matches(name))
    }),
  )
  t.pass('for all short names')
})

/** Every text of `a` and `b` with at most so many letters: two patterns of four letters need no more for one in common. */
function* namesUpTo(length: number): Generator<string, void> {
  yield ''
  if (length > 0) for (const rest of namesUpTo(length - 1)) for (const letter of 'ab') yield letter + rest
}
