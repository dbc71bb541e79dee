import t from 'tap'
import { DEFAULTS } from '../../src/core/defaults.generated.js'
import { mergeRetry, mergeTimeouts } from '../../src/plan/settings.js'

t.test('later levels win, setting by setting', async t => {
  const merged = mergeTimeouts(DEFAULTS.timeouts, { connect: 1, idle: 2 }, {}, { idle: 3 })
  t.same(merged, { ...DEFAULTS.timeouts, connect: 1, idle: 3 })
})

t.test('attempts and conditions are merged apart, and a list replaces a list', async t => {
  const { attempts, on } = mergeRetry(DEFAULTS.retry, { attempts: 5 }, { on: [503] }, { attempts: 2 })
  t.same({ attempts, on }, { attempts: 2, on: [503] })
})

t.test('a retry rule covers the conditions that it lists', async t => {
  const { covers } = mergeRetry(DEFAULTS.retry, { on: ['connect', 503] })
  t.same([covers('connect'), covers(503), covers('reset'), covers(500)], [true, true, false, false])
})
