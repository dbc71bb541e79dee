import t from 'tap'
import { collectDeadBuffers, madeBuffers } from '../../src/core/dead-buffers.js'

const MIB = 1024 * 1024

t.test('without a collector nothing happens', async t => {
  t.doesNotThrow(() => madeBuffers(64 * MIB))
})

t.test('after each 8 MiB of buffers the collector is called, and for nothing less', async t => {
  let calls = 0
  collectDeadBuffers(() => {
    calls++
  })
  t.teardown(() => collectDeadBuffers(() => undefined))
  for (let at = 0; at < 127; at++) madeBuffers(64 * 1024)
  t.equal(calls, 0)
  madeBuffers(64 * 1024)
  t.equal(calls, 1)
  for (let at = 0; at < 128; at++) madeBuffers(64 * 1024)
  t.equal(calls, 2)
  madeBuffers(100 * MIB)
  t.equal(calls, 3)
})
