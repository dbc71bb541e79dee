import t from 'tap'
import { RereadPause } from '../../src/runtime/reread-pause.js'

const SECOND_MS = 1000

t.test('secrets are read at the first refusal, and again after pauses that double while nothing changes', async t => {
  let now = 0
  const pause = new RereadPause(() => now)
  t.equal(pause.begin(1), true)
  for (const seconds of [30, 60, 120, 240, 480, 480]) {
    now += seconds * SECOND_MS - 1
    t.equal(pause.begin(1), false, `not before ${seconds} s`)
    now += 1
    t.equal(pause.begin(1), true, `after ${seconds} s`)
  }
})

t.test('a new generation keeps the pause that has begun, and the next one is short again', async t => {
  let now = 0
  const pause = new RereadPause(() => now)
  pause.begin(1)
  now += 30 * SECOND_MS
  pause.begin(1)
  now += 59 * SECOND_MS
  t.equal(pause.begin(2), false, 'secrets may be others with each reading')
  now += SECOND_MS
  t.equal(pause.begin(2), true)
  now += 30 * SECOND_MS
  t.equal(pause.begin(2), true)
})
