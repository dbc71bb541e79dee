import t from 'tap'
import { mayRefer, referencesIn } from '../../../src/features/responses/references.js'

t.test('references are known by their type, or by having neither type nor role', async t => {
  const input = [
    { type: 'item_reference', id: 'a' },
    { id: 'b' },
    { type: null, id: 'c' },
    { type: 'item_reference' },
    { role: 'user', content: 'x', id: 'no' },
    { type: 'message', role: 'user', content: 'x', id: 'no' },
    { type: 'function_call', id: 'no' },
    {},
    null,
    'no',
  ]
  t.same(referencesIn(input), ['a', 'b', 'c', ''])
  for (const other of [undefined, null, 'text', {}, 7]) t.same(referencesIn(other), [])
})

t.test('a text that may hold a reference is never taken for one that does not', async t => {
  for (const [text, may] of [
    ['{"input":[{"id":"x"}]}', true],
    ['{"input":[{"\\u0069d":"x"}]}', true],
    ['{"input":[{"i\\u0064":"x"}]}', true],
    ['{"input":[{"\\u0049D":"x"}]}', true],
    ['{"input":"\\u003c\\u00e9\\u0000"}', false],
    ['{"input":[{"role":"user","content":"ident"}]}', false],
  ] as const) {
    t.equal(mayRefer(Buffer.from(text)), may, text)
  }
})
