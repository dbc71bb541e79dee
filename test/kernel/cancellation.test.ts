import t from 'tap'
import { GatewayError } from '../../src/core/errors.js'
import { Cancellation } from '../../src/kernel/cancellation.js'

const gone = new GatewayError('client_gone', 'The client went away.')

t.test('work is cancelled once, the last begun first', async t => {
  const cancellation = new Cancellation()
  const cancelled: string[] = []
  for (const name of ['first', 'second']) cancellation.add({ cancel: () => cancelled.push(name) })
  cancellation.throwIfCancelled()
  cancellation.end(gone)
  cancellation.end(new GatewayError('internal', 'A later reason.'))
  t.strictSame(cancelled, ['second', 'first'])
  t.equal(cancellation.reason, gone, 'the first reason counts')
  t.throws(() => cancellation.throwIfCancelled(), gone)
})

t.test('work that begins after the end is cancelled at once', async t => {
  const cancellation = new Cancellation()
  cancellation.end(undefined)
  let cancelled = 0
  cancellation.add({ cancel: () => cancelled++ })
  t.equal(cancelled, 1)
  t.throws(() => cancellation.throwIfCancelled(), { message: 'the answer to this call is complete' })
})

t.test('the signal has the reason, whether it was asked for before or after the end', async t => {
  const before = new Cancellation()
  const { signal } = before
  t.equal(signal.aborted, false)
  before.end(gone)
  t.equal(signal.reason, gone)
  const after = new Cancellation()
  after.end(gone)
  t.equal(after.signal.reason, gone)
})
