import t from 'tap'
import { type Alphabet, seal, unseal } from '../../../simulator/src/tasks/token.js'
import { fc } from '../../helpers/property.js'

const ALPHABETS: Readonly<Record<Alphabet, RegExp>> = { letters: /^[a-z2-7]+$/, digits: /^[1-9][0-9]+$/ }

for (const [name, letters] of Object.entries(ALPHABETS)) {
  const alphabet = name as Alphabet

  t.test(`${name}: any text comes back, and its name is one word`, async t => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 300 }), text => {
        const sealed = seal(text, alphabet)
        return letters.test(sealed) && unseal(sealed, alphabet) === text
      }),
    )
    t.pass()
  })

  t.test(`${name}: a name with another character at any place is unknown`, async t => {
    const sealed = seal('["video","sim-video"]', alphabet)
    const other = alphabet === 'digits' ? '7' : 'q'
    for (let at = 0; at < sealed.length; at += 1) {
      const changed = sealed.slice(0, at) + (sealed[at] === other ? '2' : other) + sealed.slice(at + 1)
      t.equal(unseal(changed, alphabet), undefined)
    }
    for (const wrong of ['', sealed.slice(1), `${sealed}2`, sealed.slice(0, -1)]) {
      t.equal(unseal(wrong, alphabet), undefined)
    }
  })

  t.test(`${name}: made-up names are unknown`, async t => {
    fc.assert(fc.property(fc.string({ maxLength: 200 }), text => unseal(text, alphabet) === undefined))
    t.equal(unseal('2'.repeat(100_000), alphabet), undefined)
  })
}
