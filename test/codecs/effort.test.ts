import t from 'tap'
import { budgetOf, effortOf } from '../../src/codecs/effort.js'

t.test('a budget is the least effort that holds it', async t => {
  t.same([0, 1, 1024, 1025, 8192, 8193, 24_576].map(effortOf), [
    'none',
    'low',
    'low',
    'medium',
    'medium',
    'high',
    'high',
  ])
  t.equal(effortOf(-1), 'medium', 'as the upstream sees fit')
})

t.test('a budget never becomes a word that few models know', async t => {
  t.same([24_577, 31_999, budgetOf('xhigh'), budgetOf('max'), 1e9].map(effortOf), Array(5).fill('high'))
})
