import t from 'tap'
import type { Exchange } from '../../../src/core/plan.js'
import { deliveredTokens, learnStream } from '../../../src/features/limits/delivered.js'
import type { Outcome } from '../../../src/kernel/stages.js'

const exchange = (): Exchange => ({}) as Exchange
const outcome = (bytes: number, events: number): Outcome => ({
  ...{ phase: 'cancelled', task: undefined, status: 200, error: undefined, begun: true },
  ...{ bytes, events },
})

t.test('tokens are counted by what is usual, then by what they took in streams of the target', async t => {
  const target = exchange()
  t.equal(deliveredTokens(target, outcome(3200, 1), 32), 100)
  learnStream(target, outcome(6000, 100), 100)
  t.equal(deliveredTokens(target, outcome(3000, 1), 32), 50)
  t.equal(deliveredTokens(exchange(), outcome(3200, 1), 32), 100, 'others are as they were')
  for (let count = 0; count < 10; count++) learnStream(target, outcome(200_000, 100), 10_000)
  const later = deliveredTokens(target, outcome(3000, 1), 32)
  t.ok(later > 140 && later <= 150, `what is new counts more: ${later}`)
})

t.test(
  'no event is less than a token, and streams with much beside their text make none of the others cheap',
  async t => {
    const target = exchange()
    learnStream(target, outcome(0, 0), 100)
    learnStream(target, outcome(100, 5), 0)
    t.equal(deliveredTokens(target, outcome(3200, 1), 32), 100, 'they say nothing')
    learnStream(target, outcome(1e9, 100), 100)
    t.equal(deliveredTokens(target, outcome(12_800, 1), 32), 100)
    t.equal(deliveredTokens(target, outcome(12_800, 120), 32), 120)
  },
)

t.test('of a whole answer its text counts', async t => {
  t.equal(deliveredTokens(exchange(), outcome(800, 0), 32), 100)
  t.equal(deliveredTokens(exchange(), outcome(10, 0), 32), 0)
})
