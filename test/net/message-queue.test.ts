import fc from 'fast-check'
import t from 'tap'
import { MessageQueue } from '../../src/net/message-queue.js'

/** Messages that wait for a slow side come out as they went in. */

t.test('first in, first out, with any reads in between', async () => {
  const message = fc.tuple(fc.uint8Array({ maxLength: 3000 }), fc.boolean())
  const steps = fc.array(fc.oneof(message, fc.constant('take' as const)), { maxLength: 200 })
  fc.assert(
    fc.property(steps, steps => {
      const queue = new MessageQueue()
      const model: string[] = []
      const out: [Buffer, string][] = []
      const take = (): void =>
        queue.shift((data, isText) =>
          out.push([data, model.shift() === `${isText} ${data.toString('hex')}` ? data.toString('hex') : 'wrong']),
        )
      for (const step of steps) {
        if (step === 'take') take()
        else {
          queue.push(Buffer.from(step[0]), step[1])
          model.push(`${step[1]} ${Buffer.from(step[0]).toString('hex')}`)
        }
      }
      while (queue.length > 0) take()
      // What was taken stays as it was while more comes.
      return model.length === 0 && out.every(([data, hex]) => data.toString('hex') === hex)
    }),
  )
})

t.test('a tiny message needs little more memory than its bytes', async t => {
  const queue = new MessageQueue()
  for (let i = 0; i < 30_000; i++) queue.push(Buffer.from('a'), true)
  t.equal(queue.length, 30_000 * 6)
  queue.clear()
  t.equal(queue.length, 0)
})
