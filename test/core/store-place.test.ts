import t from 'tap'
import { StoreError } from '../../src/core/store-place.js'

class Locked extends StoreError {}
class Named extends StoreError {
  override readonly name = 'Named' as 'StoreError'
}

t.test('an error of a store is known by name and fault, and classes that extend it as any class', async t => {
  const foreign = Object.assign(new Error('from another copy of the package'), { name: 'StoreError', fault: 'full' })
  t.ok(foreign instanceof StoreError)
  t.notOk(Object.assign(new Error('of another library'), { name: 'StoreError', fault: 'tired' }) instanceof StoreError)
  t.ok(new Locked('full', 'locked') instanceof Locked)
  t.ok(new Named('full', 'named') instanceof StoreError)
  for (const other of [foreign, new StoreError('full', 'not locked')]) t.notOk(other instanceof Locked)
})
