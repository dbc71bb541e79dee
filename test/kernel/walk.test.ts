import t from 'tap'
import type { Exchange } from '../../src/core/plan.js'
import type { Call } from '../../src/kernel/call.js'
import { Walk } from '../../src/kernel/walk.js'
import { seeded } from '../helpers/random.js'

const ATTEMPTS = 4

t.test('a candidate that is put back is the next one again, and counts no attempt', async t => {
  const wrong: string[] = []
  for (let seed = 0; seed < 200; seed++) {
    const random = seeded(seed)
    const all = Array.from(
      { length: 6 },
      (_, model) => ({ model, retry: { attempts: ATTEMPTS } }) as unknown as Exchange,
    )
    const walk = new Walk({} as Call, all)
    const left = [...all]
    let tries = 0
    for (let step = 0; step < 20; step++) {
      const taken = walk.take()
      if (taken !== left.shift()) wrong.push(`seed ${seed}, step ${step}: another candidate`)
      if (taken === undefined) break
      tries++
      if (random() < 0.5) {
        walk.putBack(taken)
        left.unshift(taken)
        tries--
      }
      if (walk.hasMore !== left.length > 0) wrong.push(`seed ${seed}, step ${step}: hasMore`)
      const [one = taken] = all
      if (walk.mayLeave(one) !== (left.length > 0 && tries < ATTEMPTS))
        wrong.push(`seed ${seed}, step ${step}: mayLeave`)
    }
  }
  t.same(wrong, [])
})
