import t from 'tap'
import { madeBuffers } from '../../src/core/dead-buffers.js'

const MIB = 1024 * 1024

t.test('without a collector nothing happens', async t => {
  t.doesNotThrow(() => madeBuffers(64 * MIB))
})

t.test('after each 8 MiB of buffers the collector of young objects is called, and for nothing less', async t => {
  const calls: unknown[] = []
  const { gc } = globalThis
  t.teardown(() => Object.assign(globalThis, { gc }))
  Object.assign(globalThis, { gc: (options: unknown) => calls.push(options) })
  for (let at = 0; at < 127; at++) madeBuffers(64 * 1024)
  t.same(calls, [])
  madeBuffers(64 * 1024)
  t.same(calls, [{ type: 'minor' }])
  for (let at = 0; at < 128; at++) madeBuffers(64 * 1024)
  t.equal(calls.length, 2)
  madeBuffers(100 * MIB)
  t.equal(calls.length, 3)
})
