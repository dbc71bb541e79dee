import { setImmediate as turn } from 'node:timers/promises'
import t from 'tap'
import { Watchdog } from '../../src/kernel/watchdog.js'
import { withResolvers } from '../helpers/journal.js'
import { standStill } from '../helpers/stand-still.js'

const DEADLINE_MS = 300
const STOP_MS = 400

t.test('a process that was stopped reads its sockets before a deadline counts', async t => {
  const watchdog = new Watchdog()
  const since = performance.now()
  const { promise: seen, resolve } = withResolvers<boolean>()
  let hasRead = false
  const place = watchdog.add({ check: now => now - since > DEADLINE_MS && resolve(hasRead) })
  t.teardown(() => watchdog.delete(place))
  // Timers come next after this point of the event loop's turn, and the tick is due by then.
  await turn()
  standStill(STOP_MS)
  setImmediate(() => {
    hasRead = true
  })
  t.equal(await seen, true)
})

t.test('a process that is always late keeps its deadlines all the same', async t => {
  const watchdog = new Watchdog()
  let checks = 0
  const place = watchdog.add({ check: () => checks++ })
  t.teardown(() => watchdog.delete(place))
  for (let stops = 0; stops < 4; stops++) {
    await turn()
    standStill(STOP_MS / 2)
  }
  await turn()
  t.ok(checks > 0, `${checks} checks`)
})
