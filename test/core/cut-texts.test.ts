import fc from 'fast-check'
import t from 'tap'
import { replacedAcross, type TextRule } from '../../src/core/cut-texts.js'
import { Masker } from '../../src/core/masks.js'

const RULES: readonly TextRule[] = [
  { pattern: /falcon/gi, by: () => '[word]' },
  { pattern: /\b(Bearer +)\w{4,}/g, by: (_, head = '') => `${head}[secret]` },
]

function whole(text: string): string {
  return RULES.reduce((rest, { pattern, by }) => rest.replace(pattern, by), text)
}

t.test('what is found is replaced where it begins, and the other pieces keep what is theirs', async t => {
  t.same(replacedAcross(['The Fal', '', 'con flies, fal', 'c', 'on', ' too'], RULES), [
    'The [word]',
    '',
    ' flies, [word]',
    '',
    '',
    ' too',
  ])
  t.same(replacedAcross(['The fal', '', 'con flies'], RULES, true), ['The [word]', '', '[word] flies'])
  t.same(replacedAcross([], RULES), [])
  t.same(replacedAcross(['a', 'falcon', 'b'], RULES), ['a', '[word]', 'b'])
  t.same(replacedAcross(['Bea', 'rer abc', 'defg!'], RULES), ['Bearer [secret]', '', '!'])
})

const CUT = fc.array(
  fc.oneof(fc.constantFrom('falcon', 'Bearer token1', 'fal', 'con', ' ', 'Bearer '), fc.string({ maxLength: 6 })),
  { maxLength: 12 },
)

t.test('however a text is cut, its pieces together are the whole text with everything replaced', async () => {
  fc.assert(
    fc.property(CUT, fc.array(fc.nat(80), { maxLength: 12 }), (parts, cuts) => {
      const text = parts.join('')
      const ends = [...cuts.map(at => Math.min(at, text.length)).sort((one, other) => one - other), text.length]
      const pieces = ends.map((end, nth) => text.slice(ends[nth - 1] ?? 0, end))
      const replaced = replacedAcross(pieces, RULES)
      return replaced.length === pieces.length && replaced.join('') === whole(text)
    }),
  )
})

t.test('a masker says what it masks of a text, and nothing of one that is kept', async t => {
  const masker = new Masker(['emails'], ['falcon'], text => text.startsWith('kept'))
  t.same(replacedAcross(['ann@exa', 'mple.com and FAL', 'CON'], masker.rules('')), ['[email]', ' and [word]', ''])
  t.same(masker.rules('kept falcon'), [])
})
