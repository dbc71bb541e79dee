import t from 'tap'
import { CHAT, chatBody, open, post, simulator } from './support.js'

t.test('requests are recorded: method, path, headers, body and the answer', async t => {
  const upstream = await simulator(t)
  const answer = await post(upstream, `${CHAT}?a=1`, chatBody(), { Authorization: 'Bearer k', 'X-Twice': 'a' })
  const [entry] = upstream.received
  await entry?.closed
  t.match(entry, {
    number: 1,
    method: 'POST',
    path: `${CHAT}?a=1`,
    headers: { authorization: 'Bearer k', 'x-twice': 'a' },
    size: entry?.body.length,
    status: 200,
    bytesSent: answer.body.length,
    aborted: false,
    problem: undefined,
  })
  t.same(JSON.parse(String(entry?.body)), chatBody())
  t.ok(entry?.rawHeaders.includes('X-Twice'))
  t.equal(Object.getPrototypeOf(entry?.headers), null)
})

t.test('a client that goes away in the middle of a stream is seen', async t => {
  const upstream = await simulator(t)
  const sent = open(upstream.port, CHAT, {}, 'POST', response => {
    response.on('error', () => {})
    response.once('data', () => sent.destroy())
  })
  sent.on('error', () => {})
  sent.end(JSON.stringify(chatBody('sim-text?pace=10s', { stream: true })))
  while (upstream.received.length === 0) await new Promise(setImmediate)
  const [entry] = upstream.received
  await entry?.closed
  t.match(entry, { aborted: true, status: 200, problem: undefined })
  t.ok((entry?.bytesSent ?? 0) > 0)
})

t.test('a connection that the simulator breaks itself is not the fault of the client', async t => {
  const upstream = await simulator(t)
  await post(upstream, CHAT, chatBody('sim-text?reset-after=1', { stream: true }))
  await upstream.received[0]?.closed
  t.equal(upstream.received[0]?.aborted, false)
})

t.test('an upload that breaks off is recorded up to its break', async t => {
  const upstream = await simulator(t)
  const sent = open(upstream.port, CHAT, { 'content-length': '100' }, 'POST', () => t.fail('answered'))
  sent.on('error', () => {})
  sent.write('{"half":')
  while ((upstream.received[0]?.size ?? 0) === 0) await new Promise(setImmediate)
  sent.destroy()
  await upstream.received[0]?.closed
  t.match(upstream.received[0], { aborted: true, size: 8, problem: undefined })
  t.equal(String(upstream.received[0]?.body), '{"half":')
})

t.test('the first MiB of a body is kept, and all of it is counted', async t => {
  const upstream = await simulator(t)
  const body = JSON.stringify(chatBody('sim-text', { padding: 'x'.repeat(2 ** 21) }))
  await post(upstream, CHAT, body)
  const [entry] = upstream.received
  t.equal(entry?.size, body.length)
  t.equal(String(entry?.body), body.slice(0, 2 ** 20))
})

t.test('the oldest are forgotten, the numbers continue', async t => {
  const upstream = await simulator(t, { keep: 3 })
  const { received } = upstream
  for (let index = 0; index < 5; index += 1) await post(upstream, CHAT, chatBody())
  t.same(
    received.map(entry => entry.number),
    [3, 4, 5],
  )
})

t.test('at most 64 MiB of bodies are kept', async t => {
  const upstream = await simulator(t)
  const body = 'x'.repeat(2 ** 20)
  for (let index = 0; index < 70; index += 1) await post(upstream, CHAT, body)
  t.equal(upstream.received.length, 64)
})

t.test('the log is called with each request when it is over', async t => {
  const logged: object[] = []
  const upstream = await simulator(t, { log: entry => logged.push(JSON.parse(JSON.stringify(entry))) })
  await post(upstream, CHAT, chatBody())
  await post(upstream, CHAT, chatBody('sim-text?status=500'))
  await upstream.received[1]?.closed
  await new Promise(setImmediate)
  t.match(logged, [
    { number: 1, status: 200, body: JSON.stringify(chatBody()) },
    { number: 2, status: 500 },
  ])
})

t.test('another process reads the requests, and clears them', async t => {
  const upstream = await simulator(t)
  const { origin } = upstream
  await post(upstream, CHAT, chatBody('sim-text?status=503&times=1'))
  const list = await (await fetch(`${origin}/simulator/requests`)).json()
  t.match(list, { object: 'list', data: [{ number: 1, method: 'POST', path: CHAT, body: /sim-text/, status: 503 }] })
  t.equal((await fetch(`${origin}/simulator/requests`, { method: 'DELETE' })).status, 200)
  t.same(upstream.received, [])
  t.equal((await post(upstream, CHAT, chatBody('sim-text?status=503&times=1'))).status, 503, 'counts begin anew')
  t.equal((await fetch(`${origin}/simulator/requests`, { method: 'PUT' })).status, 405)
})

t.test('a port in use is an error of the start', async t => {
  const upstream = await simulator(t)
  await t.rejects(simulator(t, { port: upstream.port }), { code: 'EADDRINUSE' })
})
