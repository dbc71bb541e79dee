import t from 'tap'
import { taskKind } from '../../src/core/task-kind.js'

const REST = { title: 'X', object: 'x', record: 'object', members: {}, nulls: false } as const

t.test('pages, and drawings that may hold scripts, are results only where their type is named', t => {
  const { variants } = taskKind('x', {
    ...REST,
    content: { any: ['image/*', '*/*'], named: ['image/svg+xml', 'text/html'] },
  })
  for (const type of ['text/html', 'image/svg+xml']) {
    t.equal(variants.get('any')?.fits(type), false, type)
    t.equal(variants.get('named')?.fits(type), true, type)
  }
  t.equal(variants.get('any')?.fits('image/png'), true)
  t.end()
})
