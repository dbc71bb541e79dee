import t from 'tap'
import { distance, suggest } from '../../src/config/suggest.js'

t.test('insertions, deletions, replacements and swapped neighbours each count one', async t => {
  t.equal(distance('base', 'base'), 0)
  t.equal(distance('bsae', 'base'), 1)
  t.equal(distance('bas', 'base'), 1)
  t.equal(distance('bases', 'base'), 1)
  t.equal(distance('bake', 'base'), 1)
  t.equal(distance('', 'base'), 4)
})

t.test('the nearest candidate is suggested', async t => {
  t.equal(suggest('upsteams', ['upstreams', 'models', 'keys']), 'upstreams')
  t.equal(suggest('nroth', ['south', 'north']), 'north')
})

t.test('a name that differs in case only is the one', async t => {
  t.equal(suggest('BASE', ['bare', 'base']), 'base')
})

t.test('nothing is suggested where nothing is near', async t => {
  t.equal(suggest('temperature', ['upstream', 'as', 'weight']), undefined)
  t.equal(suggest('x', []), undefined)
})

t.test('two letters are near only what differs in one', async t => {
  t.equal(suggest('sa', ['as']), 'as')
  t.equal(suggest('zz', ['as']), undefined)
})
