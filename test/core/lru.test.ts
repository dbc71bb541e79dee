import t from 'tap'
import { LruCache } from '../../src/core/lru.js'

t.test('a value that was set is returned', async t => {
  const cache = new LruCache<number>(2)
  cache.set('a', 1)
  t.equal(cache.get('a'), 1)
  t.equal(cache.get('b'), undefined)
})

t.test('a value that is not read while two halves fill up is dropped', async t => {
  const cache = new LruCache<number>(2)
  for (const [index, key] of [...'abcde'].entries()) cache.set(key, index)
  t.equal(cache.get('a'), undefined)
  t.equal(cache.get('e'), 4)
})

t.test('a value that is read often stays, however many others are set', async t => {
  const cache = new LruCache<number>(2)
  cache.set('kept', 1)
  for (let index = 0; index < 100; index++) {
    cache.set(`other-${index}`, index)
    t.equal(cache.get('kept'), 1)
  }
})
