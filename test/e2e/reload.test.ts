import { readFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { connect } from 'node:tls'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { CHAT_ANSWER, chatEvent, chunk, DONE, json, LAST_CHUNK, startStream } from '../helpers/answers.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { collected } from '../helpers/collected.js'
import { clockAhead } from '../helpers/fast-clock.js'
import { CHAT, oneUpstream, startTestGateway } from '../helpers/gateway.js'
import { withResolvers } from '../helpers/journal.js'
import { startRawUpstream } from '../helpers/raw-upstream.js'

t.test('a new model is served without a restart, over the connections that were open', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, oneUpstream(up.origin))
  t.equal((await gateway.chat()).status, 200)
  t.equal((await gateway.chat({ model: 'new' })).status, 404)
  await gateway.write('gateway.yaml', oneUpstream(up.origin).replace('m: up', 'm: up, new: up'))
  await gateway.gateway.reload()
  t.equal((await gateway.chat({ model: 'new' })).status, 200)
  t.equal(up.connections.items.length, 1, 'the pool was kept')
})

t.test('a stream in flight finishes on the plan that it started with', async t => {
  const up = await startRawUpstream(t)
  const { promise: reloaded, resolve } = withResolvers<void>()
  up.answer(async peer => {
    await startStream(peer)
    await peer.send(chunk(chatEvent('before')))
    await reloaded
    await peer.send(chunk(chatEvent('after') + DONE))
    await peer.send(LAST_CHUNK)
  })
  const gateway = await startTestGateway(t, oneUpstream(up.origin))
  const client = await gateway.open('/v1/chat/completions', { body: { ...CHAT, stream: true } })
  const head = await client.head()
  await client.body(head, body => body.includes('before'))
  const elsewhere = await startRawUpstream(t)
  elsewhere.answer(json(CHAT_ANSWER))
  await gateway.write('gateway.yaml', oneUpstream(elsewhere.origin))
  await gateway.gateway.reload()
  t.equal((await gateway.chat()).status, 200, 'new requests go by the new plan')
  t.equal(elsewhere.requests.items.length, 1)
  resolve()
  const rest = await client.body(head, body => body.includes('[DONE]'))
  t.match(rest.body.toString(), 'after')
})

t.test('files that say the same again change nothing', async t => {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(up.origin))
  const { plan } = gateway.gateway
  await gateway.write('gateway.yaml', oneUpstream(up.origin))
  await gateway.gateway.reload()
  t.equal(gateway.gateway.plan, plan)
  t.match(gateway.gateway.health.reloads, { applied: 0, failed: 0, unchanged: 1 })
})

t.test('F-R5 a port that changes in the file needs a restart, is said, and the rest takes effect', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const yaml = oneUpstream(up.origin, 'store: { type: memory }\n')
  const gateway = await startTestGateway(t, yaml)
  const changed = yaml.replace('memory', 'file, path: ./elsewhere').replace('m: up', 'm: up, new: up')
  await gateway.write('gateway.yaml', changed)
  await gateway.gateway.reload()
  const line = await gateway.log.find(one => one.msg === 'needs a restart to take effect')
  t.equal(line.setting, 'store')
  t.equal((await gateway.chat({ model: 'new' })).status, 200)
})

t.test('/readyz tells of a file that does not compile; its details need a key', async t => {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(t, oneUpstream(up.origin))
  const { request } = await import('../helpers/raw-client.js')
  t.match((await request(t, gateway.origin, '/readyz')).json(), { status: 'ready', config: { valid: true } })
  await gateway.write('gateway.yaml', oneUpstream(up.origin).replace('m: up', 'm: upp'))
  await gateway.gateway.reload()
  const open = await request(t, gateway.origin, '/readyz?verbose')
  t.match(open.json(), { status: 'ready', config: { valid: false, problems: 1, reloads: { failed: 1 } } })
  t.notMatch(open.text, 'upp')
  const verbose = await gateway.request('/readyz?verbose')
  t.match(verbose.text, /gateway\.yaml:\d+:\d+ models\.m/)
  t.match((await request(t, gateway.origin, '/livez')).json(), { status: 'live' })
})

t.test('a certificate is re-read when its file changes', async t => {
  const fixture = (name: string): string => readFileSync(`${packageRoot()}/test/fixtures/tls/${name}`, 'utf8')
  const up = await startRawUpstream(t)
  const yaml = oneUpstream(up.origin, 'listen: { tls: { cert: cert.pem, key: key.pem } }\n')
  const files = { 'cert.pem': fixture('first.pem'), 'key.pem': fixture('first.key') }
  const gateway = await startTestGateway(t, yaml, { files })
  const name = async (): Promise<unknown> => {
    const { hostname, port } = new URL(gateway.origin)
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false })
    await new Promise((resolve, reject) => socket.once('secureConnect', resolve).once('error', reject))
    const subject = socket.getPeerCertificate().subject.CN
    socket.destroy()
    return subject
  }
  t.match(gateway.origin, /^https:/)
  t.equal(await name(), 'first.test')
  await gateway.write('cert.pem', fixture('second.pem'))
  await gateway.write('key.pem', fixture('second.key'))
  await gateway.gateway.reload()
  t.equal(await name(), 'second.test')
})

t.test('F-R4 a credential that the upstream refuses is read again, once, without any file event', async t => {
  const up = await startRawUpstream(t)
  up.answer(json({ error: { message: 'no' } }, { status: 401 }))
  const yaml = oneUpstream(up.origin).replace('{ env: UPSTREAM_KEY }', '{ file: up.key }')
  const gateway = await startTestGateway(t, yaml, { files: { 'up.key': canary('upstream') } })
  const next = canary('upstream')
  await gateway.write('up.key', next)
  t.equal((await gateway.chat()).status, 502, 'never a 401 of the caller')
  await gateway.log.find(line => line.msg === 'reloaded')
  await gateway.chat()
  await gateway.chat()
  t.equal(up.requests.items.at(-1)?.header('authorization'), `Bearer ${next}`)
  t.match(gateway.gateway.health.reloads, { applied: 1 })
})

t.test('F-R4 what is refused and still the same is read again after a pause', async t => {
  const up = await startRawUpstream(t)
  up.answer(json({ error: { message: 'no' } }, { status: 401 }))
  const yaml = oneUpstream(up.origin).replace('{ env: UPSTREAM_KEY }', '{ file: up.key }')
  const gateway = await startTestGateway(t, yaml, { files: { 'up.key': canary('upstream') } })
  let ahead = 0
  clockAhead(t, performance, () => ahead)
  const said = (words: RegExp) => gateway.log.find(line => words.test(line.msg ?? ''))
  await gateway.chat()
  t.equal(
    (await said(/refused its credential/)).upstream,
    Object.keys(gateway.gateway.loaded.config?.upstreams ?? {})[0],
  )
  // That reading is over before this one.
  await gateway.gateway.reload()
  const next = canary('upstream')
  await gateway.write('up.key', next)
  ahead = 30_000
  await gateway.chat()
  await said(/^reloaded$/)
  await gateway.chat()
  t.equal(up.requests.items.at(-1)?.header('authorization'), `Bearer ${next}`)
})

proveNoLeak(t)

t.test(
  'thousands of models are reloaded under traffic: no request is lost, and the last of two changes serves',
  async t => {
    const up = await startRawUpstream(t)
    up.answer(json(CHAT_ANSWER))
    const many = (suffix: string): string =>
      `models:\n${Array.from({ length: 3000 }, (_, i) => `  m-${i}: { upstream: up, as: real-${i}${suffix} }\n`).join('')}`
    const yaml = oneUpstream(up.origin, 'include: [many.yaml]\n')
    const gateway = await startTestGateway(t, yaml, { files: { 'many.yaml': many('') } })
    const before = gateway.gateway.plan
    const delay = monitorEventLoopDelay({ resolution: 1 })
    let [statuses, done] = [new Map<number, number>(), false]
    const traffic = async (): Promise<void> => {
      while (!done) {
        const { status } = await gateway.chat({ model: 'm-2999' })
        statuses = statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }
    await gateway.chat({ model: 'm-2999' })
    delay.enable()
    const clients = [traffic(), traffic()]
    await gateway.write('many.yaml', many('-first'))
    const first = gateway.gateway.reload()
    await gateway.write('many.yaml', many('-last'))
    await Promise.all([first, gateway.gateway.reload()])
    t.not(gateway.gateway.plan, before)
    done = true
    await Promise.all(clients)
    t.same([...statuses.keys()], [200], 'every request was answered')
    t.comment(`longest stall of the event loop: ${(delay.max / 1e6).toFixed(0)} ms; ${statuses.get(200)} requests`)
    await gateway.chat({ model: 'm-2999' })
    t.match(up.requests.items.at(-1)?.body.toString(), '"real-2999-last"')
  },
)

t.test('a plan that was replaced is let go', async t => {
  const up = await startRawUpstream(t)
  up.answer(json(CHAT_ANSWER))
  const gateway = await startTestGateway(t, oneUpstream(up.origin))
  await gateway.chat()
  const first = new WeakRef(gateway.gateway.plan)
  await gateway.write('gateway.yaml', oneUpstream(up.origin).replace('m: up', 'm: up, new: up'))
  await gateway.gateway.reload()
  await gateway.chat()
  t.equal(await collected([first]), 0)
})
