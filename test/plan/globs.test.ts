import t from 'tap'
import { Glob } from '../../src/plan/globs.js'
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

t.test('F-C12 a pattern with many stars on 1 MiB looks at each piece of text once', async t => {
  const glob = new Glob(`${'a*'.repeat(50)}b`)
  t.equal(glob.matches('a'.repeat(1 << 20)), false)
  t.equal(glob.matches(`${'a'.repeat(1 << 20)}b`), true)
})
