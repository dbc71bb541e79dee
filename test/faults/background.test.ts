import t from 'tap'
import { StoreError } from '../../src/core/store.js'
import { Run } from '../../src/features/responses/run.js'
import { MemoryStore } from '../../src/stores/memory.js'
import { brokenStream, chatEvent, chunk, DONE, hang, LAST_CHUNK, startStream } from '../helpers/answers.js'
import { collected } from '../helpers/collected.js'
import { eventsOf } from '../helpers/expect.js'
import { oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import type { RawClient } from '../helpers/raw-client.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'
import { storeYaml, temporary } from '../helpers/store-kinds.js'

/** Responses that run in the background, and those who read their events meanwhile. */

type Test = Pick<typeof t, 'teardown'>

const END = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`
const PIECE = 'x'.repeat(500_000)
/** How often a run writes that it is alive. */
const BEAT_INTERVAL_MS = 30_000

async function stage(test: Test, more = ''): Promise<{ readonly gateway: TestGateway; readonly up: RawUpstream }> {
  const up = await startRawUpstream(test)
  const yaml = oneUpstream(up.origin, `store: { type: memory }\n${more}`).replace(', responses: POST /v1/responses', '')
  return { up, gateway: await startTestGateway(test, yaml) }
}

/** So many pieces of half a megabyte each, and a good end. */
function says(pieces: number): Script {
  return async peer => {
    await startStream(peer)
    for (let n = 0; n < pieces; n++) await peer.send(chunk(chatEvent(PIECE)))
    await peer.send(chunk(END + DONE))
    await peer.send(LAST_CHUNK)
  }
}

const follow = (gateway: TestGateway): Promise<RawClient> =>
  gateway.open('/v1/responses', { body: { model: 'm', input: 'a', background: true, stream: true } })

t.test('F-U16 more events than are kept reach who reads them all the same', async t => {
  const { up, gateway } = await stage(t)
  up.answer(says(3))
  const answer = await (await follow(gateway)).answer()
  t.equal(answer.whole, true)
  const events = eventsOf(answer.text)
  t.equal(events.filter(({ event }) => event === 'response.output_text.delta').length, 3)
  t.equal(events.at(-1)?.event, 'response.completed')
  const id = /resp_\w+/.exec(answer.text)?.[0]
  const late = await gateway.request(`/v1/responses/${id}?stream=true`)
  t.equal(late.status, 400, 'from the first on they cannot be read again')
  t.match((await gateway.request(`/v1/responses/${id}`)).json(), { status: 'completed' })
})

t.test('F-C3 a reader that stops for some megabytes gets them all', async t => {
  const { up, gateway } = await stage(t)
  up.answer(says(3))
  const client = await follow(gateway)
  const head = await client.head()
  client.socket.pause()
  await gateway.log.find(line => line.msg === 'request' && line.outcome === 'ok')
  client.socket.resume()
  const { body, whole } = await client.body(head)
  t.equal(whole, true)
  t.equal(eventsOf(body.toString()).at(-1)?.event, 'response.completed')
})

t.test('F-C3 a slow reader gets an error, and delays no one', async t => {
  const { up, gateway } = await stage(t)
  up.answer(says(26))
  const client = await follow(gateway)
  const head = await client.head()
  client.socket.pause()
  // The run itself, which no client waits for.
  await gateway.log.find(line => line.msg === 'request' && line.outcome === 'ok')
  client.socket.resume()
  const { body, whole } = await client.body(head)
  t.equal(whole, true)
  const last = eventsOf(body.toString()).at(-1)
  t.equal(last?.event, 'error')
  t.match(JSON.parse(last?.data ?? ''), { type: 'error', code: 'unavailable' })
})

t.test('F-P1 what is cut by a drain ends with an error event for who reads it', async t => {
  const { up, gateway } = await stage(t, 'limits: { drain: 50ms }\n')
  up.answer(brokenStream([chatEvent('one')], hang))
  const client = await follow(gateway)
  const head = await client.head()
  await client.body(head, body => body.includes('one'))
  const closed = gateway.gateway.close()
  const { body, whole } = await client.body(head)
  t.equal(whole, true)
  const events = eventsOf(body.toString())
  t.match(JSON.parse(events.at(-1)?.data ?? ''), { type: 'response.failed', response: { status: 'failed' } })
  t.equal(events.filter(({ event }) => event === 'response.failed').length, 1)
  await up.aborts.count(1)
  await closed
})

t.test('F-U16 an answer that is too large to be kept has failed, and its upstream is let go', async t => {
  const { up, gateway } = await stage(t)
  up.answer(says(34))
  const begun = await gateway.request('/v1/responses', { body: { model: 'm', input: 'a', background: true } })
  const { id } = begun.json() as { readonly id: string }
  await gateway.log.count(2, line => line.msg === 'request')
  const { status, error } = (await gateway.request(`/v1/responses/${id}`)).json() as Record<string, unknown>
  t.equal(status, 'failed')
  t.match(error, { message: /too large/ })
})

t.test('an end that the store did not take at once is stored when it does', async t => {
  const { up, gateway } = await stage(t)
  up.answer(says(0))
  const writes = new Journal<string>('ends that are written')
  const { replace } = MemoryStore.prototype
  t.teardown(() => Object.assign(MemoryStore.prototype, { replace }))
  MemoryStore.prototype.replace = async function (...change) {
    if (change[0].namespace !== 'responses') return await replace.apply(this, change)
    writes.push('tried')
    if (writes.items.length <= 2) throw new StoreError('unavailable', 'away')
    const record = await replace.apply(this, change)
    writes.push('stored')
    return record
  }
  const begun = await gateway.request('/v1/responses', { body: { model: 'm', input: 'a', background: true } })
  t.equal(begun.status, 200)
  await writes.count(1, one => one === 'stored')
  t.strictSame(writes.items, ['tried', 'tried', 'tried', 'stored'])
})

t.test('a response that another process has deleted ends, and its upstream is let go', async t => {
  const { setInterval } = globalThis
  t.teardown(() => Object.assign(globalThis, { setInterval }))
  const beats: (() => void)[] = []
  const noted = (run: () => void, milliseconds: number): NodeJS.Timeout => {
    if (milliseconds === BEAT_INTERVAL_MS) beats.push(run)
    return setInterval(run, milliseconds)
  }
  Object.assign(globalThis, { setInterval: noted })
  const up = await startRawUpstream(t)
  up.answer(hang)
  const store = storeYaml({ type: 'file', path: temporary(t) })
  const yaml = oneUpstream(up.origin, `store: ${store}\n`).replace(', responses: POST /v1/responses', '')
  const runs = await startTestGateway(t, yaml)
  const deletes = await startTestGateway(t, yaml, { env: { CALLER_KEY: runs.key } })
  const begun = await runs.request('/v1/responses', { body: { model: 'm', input: 'a', background: true } })
  const { id } = begun.json() as { id: string }
  await up.requests.count(1)
  const gone = await deletes.request(`/v1/responses/${id}`, { method: 'DELETE' })
  t.equal(gone.status, 200, gone.text)
  for (const beat of beats) beat()
  await up.aborts.count(1)
})

t.test('F-U16 of many that have ended the last 32 are kept, and none of their requests', async t => {
  const { up, gateway } = await stage(t)
  up.answer(says(0))
  const runs: WeakRef<object>[] = []
  const requests: WeakRef<object>[] = []
  const { begin } = Run.prototype
  Run.prototype.begin = function (request) {
    runs.push(new WeakRef(this))
    requests.push(new WeakRef(request))
    begin.call(this, request)
  }
  t.teardown(() => Object.assign(Run.prototype, { begin }))
  for (let count = 1; count <= 40; count++) {
    await gateway.request('/v1/responses', { body: { model: 'm', input: 'a', background: true } })
    await gateway.log.count(2 * count, line => line.msg === 'request')
  }
  t.equal(await collected(runs, 32), 32)
  t.equal(await collected(requests), 0)
})
