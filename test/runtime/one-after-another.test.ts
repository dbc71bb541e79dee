import t from 'tap'
import { OneAfterAnother } from '../../src/runtime/one-after-another.js'

/** A job whose runs end when they are told to. */
function controlled(): { job: () => Promise<number>; end: (() => void)[] } {
  const end: (() => void)[] = []
  const job = (): Promise<number> => {
    const run = end.length
    return new Promise(resolve => end.push(() => resolve(run)))
  }
  return { job, end }
}

t.test('calls during a run share the one that follows it', async t => {
  const { job, end } = controlled()
  const runs = new OneAfterAnother(job)
  const [first, second, third] = [runs.run(), runs.run(), runs.run()]
  t.equal(end.length, 1)
  end[0]?.()
  t.equal(await first, 0)
  await new Promise(resolve => setImmediate(resolve))
  t.equal(end.length, 2)
  end[1]?.()
  t.strictSame([await second, await third], [1, 1])
})

t.test('a run that fails does not keep the next one from running', async t => {
  let runs = 0
  const failing = new OneAfterAnother(async () => {
    runs++
    if (runs === 1) throw new Error('first')
    return runs
  })
  const [first, second] = [failing.run(), failing.run()]
  await t.rejects(first, { message: 'first' })
  t.equal(await second, 2)
})
