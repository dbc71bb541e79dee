import t from 'tap'
import { verdictOf } from '../../../src/features/tasks/reading.js'

const shape = {
  verdict: { at: [['code']], accepted: new Set(['1', '22']), busy: new Set(['23']), message: [['description']] },
} as unknown as Parameters<typeof verdictOf>[1]

t.test('a verdict is read as a number or a text', async t => {
  t.equal(verdictOf({ code: 1 }, shape), undefined)
  t.equal(verdictOf({ code: '22' }, shape), undefined)
  t.same(verdictOf({ code: 24, description: 'no' }, shape), { code: '24', message: 'no', busy: false })
  t.same(verdictOf({ code: '23' }, shape), { code: '23', message: undefined, busy: true })
})

t.test('where nothing is written nothing is said', async t => {
  for (const document of [undefined, null, [], 'x', {}, { code: null }, { code: '' }, { description: 'x' }]) {
    t.equal(verdictOf(document, shape), undefined)
  }
  t.equal(verdictOf({ code: 24 }, { ...shape, verdict: undefined }), undefined)
})

t.test('strange verdicts are refusals, and bounded', async t => {
  t.match(verdictOf({ code: { a: 1 } }, shape), { code: '[object Object]', busy: false })
  t.equal(verdictOf({ code: 'x'.repeat(10_000), description: 'y'.repeat(100_000) }, shape)?.code.length, 128)
  t.equal(verdictOf({ code: 9, description: 'y'.repeat(100_000) }, shape)?.message, undefined)
})
