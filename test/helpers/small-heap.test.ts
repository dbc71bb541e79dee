import t from 'tap'
import { startSmallHeap } from './small-heap.js'
import { EACH_UPSTREAM, upstreamOf } from './text-upstreams.js'

t.test('a gateway with little memory tells how it fares', async t => {
  const stage = await startSmallHeap(
    t,
    origin => `version: 1
listen: { port: 0 }
store: { type: memory }
keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }
upstreams: { up: { base: "${origin}", ${EACH_UPSTREAM[0].yaml} } }
models: { m: up }
`,
    { heap: 64 },
  )
  stage.upstream.answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(upstreamOf('chat').answer))
  }
  const body = JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'hello' }] })
  const { result, pulse } = await stage.pulse(() => stage.sendAll({ path: '/v1/chat/completions', body }, 10))
  t.same(
    result.map(({ status, whole }) => [status, whole]),
    Array.from({ length: 10 }, () => [200, true]),
  )
  t.match(result[0]?.text, 'one two three')
  t.equal(pulse.failures, 0)
  t.ok(stage.alive)
  if (process.platform === 'linux') t.ok((stage.peakMiB() ?? 0) > 10)
  stage.bin.child.kill('SIGKILL')
  await stage.bin.ended
  t.notOk(stage.alive)
  t.match(await stage.send({ path: '/v1/chat/completions', body }), { status: 0, whole: false })
})
