import t from 'tap'
import { Account } from '../../../src/features/limits/account.js'
import { addLimit } from '../../../src/features/limits/headers.js'

t.test('the reset of a window is in whole seconds, and in milliseconds within the last one', async t => {
  const last = { of: Number.NaN, text: '' }
  const names = { limit: 'limit', remaining: 'left', reset: 'reset', form: 'duration' as const, last }
  const account = new Account('key:a requests', 'requests', { start: 0, end: 62_000, label: 'x' }, 5, true)
  for (const [now, reset] of [
    [0, '1m2s'],
    [500, '1m2s'],
    [60_999, '2s'],
    [61_000, '1s'],
    [61_001, '999ms'],
    [61_001, '999ms'],
    [61_999, '1ms'],
    [62_000, '0s'],
    [0, '1m2s'],
  ] as const) {
    const headers: string[] = []
    addLimit(headers, names, account, now)
    t.same(headers, ['limit', '5', 'left', '5', 'reset', reset])
  }
})
