import t from 'tap'
import { body, brokenStream, chatEvent, DONE, hang, json, reset, stream } from './answers.js'
import { connectRaw, request, requestBytes } from './raw-client.js'
import { startRawUpstream } from './raw-upstream.js'

t.test('an upstream obeys its scripts in order, and remembers the bytes', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json({ a: 1 }, { cuts: [3, 40] }), stream([chatEvent('x'), DONE]), body('', { status: 500 }))
  const one = await request(t, upstream.origin, '/one', { body: { q: 1 } })
  t.same(one.json(), { a: 1 })
  t.equal(one.whole, true)
  const two = await request(t, upstream.origin, '/two', { key: 'k' })
  t.equal(two.text, chatEvent('x') + DONE)
  t.equal((await request(t, upstream.origin, '/three')).status, 500)
  t.equal((await request(t, upstream.origin, '/four')).status, 500)
  const requests = await upstream.requests.count(4)
  t.same(
    requests.map(r => r.target),
    ['/one', '/two', '/three', '/four'],
  )
  t.same(requests[0]?.json(), { q: 1 })
  t.equal(requests[1]?.header('authorization'), 'Bearer k')
})

t.test('a broken transfer is distinguished from a whole one', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(
    brokenStream([chatEvent('x')], reset),
    brokenStream([chatEvent('x')], p => p.finish()),
  )
  for (const _ of [1, 2]) {
    const answer = await request(t, upstream.origin, '/').catch(error => error)
    t.equal(answer.whole, false)
  }
})

t.test('an abort is seen, keep-alive connections serve again, heads can be answered early', async t => {
  const upstream = await startRawUpstream(t, { host: '127.0.0.2', read: 'head' })
  upstream.answer(json({}), hang)
  const client = await connectRaw(t, upstream.origin)
  await client.send(requestBytes(upstream.origin, '/', { body: 'abc' }))
  await client.answer()
  await client.send(requestBytes(upstream.origin, '/', { body: 'abc' }))
  await upstream.requests.count(2)
  client.socket.destroy()
  t.same(await upstream.aborts.count(1), [0])
  t.equal(upstream.connections.items.length, 1)
})
