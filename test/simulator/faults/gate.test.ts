import t from 'tap'
import { Gate } from '../../../simulator/src/faults/gate.js'
import type { Faults } from '../../../simulator/src/faults/table.js'

function struck(gate: Gate, faults: Faults, requests: number): readonly Faults[] {
  return Array.from({ length: requests }, () => gate.pass(faults)).filter(each => each.status !== undefined)
}

t.test('without a share or a number, faults strike always', async t => {
  t.equal(struck(new Gate(), { status: 503 }, 5).length, 5)
})

t.test('times: the first so many requests, and no more', async t => {
  const gate = new Gate()
  const faults: Faults = { status: 503, times: 2 }
  t.same(
    Array.from({ length: 4 }, () => gate.pass(faults).status),
    [503, 503, undefined, undefined],
  )
})

t.test('failure-rate: close to the share over any hundred requests, and the same each time', async t => {
  for (const rate of [0, 0.1, 0.5, 0.9, 1]) {
    const counts = [new Gate(), new Gate()].map(gate => struck(gate, { status: 500, 'failure-rate': rate }, 100).length)
    t.ok(Math.abs((counts[0] ?? 0) - rate * 100) <= 2, `${counts[0]} of 100 for ${rate}`)
    t.equal(counts[0], counts[1])
  }
})

t.test('failure-rate without another fault answers 500', async t => {
  t.match(struck(new Gate(), { 'failure-rate': 1, latency: 5 }, 1), [{ status: 500, latency: 5 }])
})

t.test('what is not a failure stays in the requests that are spared', async t => {
  t.same(new Gate().pass({ times: 0, status: 500, latency: 5, tokens: 3 }), { times: 0, latency: 5, tokens: 3 })
})

t.test('each way of writing faults is counted by itself; reset begins anew', async t => {
  const gate = new Gate()
  t.equal(gate.pass({ status: 500, times: 1 }).status, 500)
  t.equal(gate.pass({ status: 502, times: 1 }).status, 502)
  t.equal(gate.pass({ status: 500, times: 1 }).status, undefined)
  gate.reset()
  t.equal(gate.pass({ status: 500, times: 1 }).status, 500)
})

t.test('each scope is counted for itself', async t => {
  const gate = new Gate()
  const faults: Faults = { status: 503, times: 1 }
  t.same(
    ['one', 'one', 'other'].map(scope => gate.pass(faults, scope).status),
    [503, undefined, 503],
  )
})
