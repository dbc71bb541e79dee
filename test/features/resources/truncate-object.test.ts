import t from 'tap'
import { truncateObject } from '../../../src/features/resources/truncate-object.js'

t.test('what is small stays as it is', async t => {
  const object = { id: 'file-1', nested: { a: [1, 2] } }
  t.equal(truncateObject(object), object)
})

t.test('what is large loses what is large in it, and nothing else', async t => {
  const large = 'x'.repeat(100_000)
  const object = { name: 'batches/1', done: true, metadata: { state: 'DONE', output: [large] }, response: { large } }
  t.same(truncateObject(object), { name: 'batches/1', done: true, metadata: { state: 'DONE' }, response: {} })
})

t.test('what is large all over is not kept', async t => {
  t.equal(truncateObject(Object.fromEntries(Array.from({ length: 50_000 }, (_, at) => [`k${at}`, at]))), undefined)
})
