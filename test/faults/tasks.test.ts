import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { StoreError } from '../../src/core/store.js'
import { inertHeaders } from '../../src/features/tasks/content-relay.js'
import { openStore } from '../../src/runtime/stores.js'
import { MemoryStore } from '../../src/stores/memory.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { fastClock } from '../helpers/fast-clock.js'
import { formOf, noise, type Part, sending } from '../helpers/forms.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { Journal, withResolvers } from '../helpers/journal.js'
import { listening } from '../helpers/listening.js'
import { type Answer, connectRaw } from '../helpers/raw-client.js'
import { redisConfig, storeYaml, temporary } from '../helpers/store-kinds.js'
import { startRedis, withoutRedis } from '../helpers/store-servers.js'
import {
  compatible,
  FILM,
  film,
  filmYaml,
  held,
  startTaskUpstream,
  type TaskScript,
  type TaskUpstream,
} from '../helpers/task-upstream.js'

interface Stage {
  readonly gateway: TestGateway
  readonly upstream: TaskUpstream
  /** The key of someone else. */
  readonly other: string
  /** Begins a task and gives its id. */
  begin(body?: object, headers?: Record<string, string>): Promise<string>
  record(id: string): Promise<Record<string, unknown>>
  /** Resolves when the task is in that state. */
  reaches(id: string, state: string): Promise<Record<string, unknown>>
}

async function stage(t: Test, script: TaskScript, task?: string, more?: string): Promise<Stage> {
  const upstream = await startTaskUpstream(t, script)
  const other = canary('caller')
  const gateway = await startTestGateway(t, filmYaml(upstream.origin, task, more), { env: { OTHER_KEY: other } })
  const record = async (id: string) => (await gateway.request(`/v1/videos/${id}`)).json() as Record<string, unknown>
  return {
    gateway,
    upstream,
    other,
    record,
    begin: async (body = {}, headers = {}) => {
      const answer = await gateway.request('/v1/videos', { body: { model: 'film', prompt: 'A cat', ...body }, headers })
      if (answer.status !== 200) throw new Error(answer.text)
      return (answer.json() as { id: string }).id
    },
    reaches: async (id, state) => {
      await gateway.log.find(line => line.msg === 'task changed' && line.task === id && line.to === state)
      return await record(id)
    },
  }
}

const DONE = { status: 'completed', progress: 100 }
const BODY = { model: 'film', prompt: 'A cat' }

// ── F-T2: tasks that get lost, never end, or end in a strange way

t.test('F-T2 an upstream that does not know the task any more: failed after ten refusals, with a reason', async t => {
  const script: TaskScript = ({ method }) => (method === 'POST' ? { body: { id: 'v1' } } : { status: 404 })
  const { begin, reaches, upstream, gateway } = await stage(t, script)
  const id = await begin()
  const record = await reaches(id, 'failed')
  t.match(record, { status: 'failed', error: { code: 'task_lost', message: /\w/ } })
  t.equal(upstream.requests.items.filter(({ method }) => method === 'GET').length, 10)
  const line = gateway.log.items.find(one => one.msg === 'task changed')
  t.match(line, { task: id, from: 'queued', to: 'failed', code: 'task_lost', upstream: 'up', owner: 'caller' })
})

t.test('F-T2 a task that never ends: failed at its deadline', async t => {
  const stalled = compatible({ status: 'in_progress', progress: 85 })
  const { begin, reaches } = await stage(t, stalled, 'poll: { every: 20ms }, deadline: 1m, grace: 1ms')
  const id = await begin()
  await reaches(id, 'running')
  fastClock(t, Date)
  t.match(await reaches(id, 'failed'), { status: 'failed', progress: 85, error: { code: 'deadline' } })
})

t.test('F-T2 a task of which nothing new is heard: failed as stalled', async t => {
  const stalled = compatible({ status: 'in_progress', progress: 85 })
  const { begin, reaches } = await stage(t, stalled, 'poll: { every: 20ms, slowest: 1m }, stall: 1m')
  const id = await begin()
  await reaches(id, 'running')
  fastClock(t, Date)
  t.match(await reaches(id, 'failed'), { progress: 85, error: { code: 'stalled' } })
})

t.test('F-T2 time in which the upstream cannot be asked is not a standing still', async t => {
  let down = false
  const script: TaskScript = (request, upstream) =>
    down && request.method === 'GET' ? { status: 503 } : compatible({ status: 'in_progress' })(request, upstream)
  const { begin, gateway, upstream, record } = await stage(
    t,
    script,
    'poll: { every: 10ms, slowest: 20ms }, stall: 400ms',
  )
  const id = await begin()
  await gateway.log.find(line => line.to === 'running')
  down = true
  // Sixty pauses of 18 ms and more are longer than it may stop.
  await upstream.requests.count(upstream.requests.items.length + 60)
  down = false
  await upstream.requests.count(upstream.requests.items.length + 3)
  t.match(await record(id), { status: 'in_progress' })
  await gateway.log.find(line => line.task === id && line.code === 'stalled')
})

t.test('F-T2 an upstream that refuses our credential does not know that no one wants a task', async t => {
  let refusals = 0
  const script: TaskScript = (request, upstream) =>
    request.method === 'DELETE' ? { status: ++refusals % 2 ? 401 : 403 } : compatible(DONE)(request, upstream)
  const upstream = await startTaskUpstream(t, script)
  const yaml = filmYaml(upstream.origin).replace('type: memory', 'type: file, path: ./data')
  const gateway = await startTestGateway(t, yaml, { env: { OTHER_KEY: canary('caller') } })
  const { id } = (await gateway.request('/v1/videos', { body: BODY })).json() as { id: string }
  await gateway.log.find(line => line.task === id && line.to === 'succeeded')
  t.equal((await gateway.request(`/v1/videos/${id}`, { method: 'DELETE' })).status, 200)
  await gateway.log.find(line => line.msg === 'an upstream refused its credential; reading the secrets again')
  await gateway.gateway.close()
  const store = await openStore({ type: 'file', path: join(gateway.folder, 'data') })
  t.teardown(() => store.close())
  const records = await store.scan('tasks-video', { limit: 10 })
  const tasks = records.map(({ value }) => JSON.parse(Buffer.from(value).toString()))
  t.same(
    tasks.map(({ id, phase, faults }) => ({ id, phase, faults })),
    [{ id, phase: 'deleting', faults: 1 }],
    'it is sent again',
  )
})

t.test('F-T2 a success after the deadline is kept', async t => {
  let done = false
  const script: TaskScript = request =>
    request.method === 'POST'
      ? { body: { id: 'v1' } }
      : compatible(done ? DONE : { status: 'running' })(request, upstream)
  const task = 'poll: { every: 20ms, slowest: 30ms }, deadline: 150ms, grace: 1h'
  const { begin, reaches, upstream, gateway } = await stage(t, script, task)
  const id = await begin()
  t.match(await reaches(id, 'failed'), { error: { code: 'deadline' } })
  done = true
  t.match(await reaches(id, 'succeeded'), { status: 'completed', error: null })
  t.ok(gateway.log.items.some(line => line.to === 'succeeded' && line.late === true))
})

t.test('F-T2 trouble while polling is invisible, and ends nothing', async t => {
  const answers = [
    { status: 500 },
    'reset',
    { status: 429 },
    { body: Buffer.from('<html>') },
    { status: 401 },
    'reset',
  ] as const
  let at = 0
  const script: TaskScript = ({ method, target, headers }) => {
    if (method === 'POST') return { body: { id: 'v1' } }
    if (target.endsWith('/content')) return film(headers.range)
    return answers[at++] ?? { body: DONE }
  }
  const { begin, reaches, gateway } = await stage(t, script, 'poll: { every: 5ms, slowest: 10ms }')
  const id = await begin()
  t.match(await reaches(id, 'succeeded'), { status: 'completed' })
  t.equal(gateway.log.items.filter(line => line.msg === 'task changed').length, 1, 'there was no other change')
})

t.test('F-T2 words that no one knows mean that the task continues; progress never goes back', async t => {
  const states = [
    { status: 'IN_PROGRESS', progress: '40%' },
    { status: 'marinating', progress: 10 },
    { status: null },
    { status: 'Succeeded' },
  ]
  const seen: unknown[] = []
  const { begin, reaches, record, gateway } = await stage(t, compatible(...states))
  const id = await begin()
  await gateway.log.find(line => line.to === 'running')
  for (let status: unknown; status !== 'completed'; ) {
    const now = await record(id)
    status = now.status
    seen.push(now.progress)
    t.ok(['queued', 'in_progress', 'completed'].includes(String(status)))
  }
  t.same(
    seen,
    [...seen].sort((a, b) => Number(a) - Number(b)),
  )
  t.match(await reaches(id, 'succeeded'), { progress: 100 })
})

t.test('F-T2 states in any case, and their synonyms', async t => {
  const words = ['SUCCESS', 'fail', 'Canceled', 'expired', 'ERROR', 'finished']
  const ends = ['completed', 'failed', 'failed', 'failed', 'failed', 'completed']
  const codes = [undefined, 'failed', 'cancelled', 'expired', 'failed', undefined]
  for (const [index, word] of words.entries()) {
    const { begin, gateway, record } = await stage(t, compatible({ status: word }))
    const id = await begin()
    await gateway.log.find(line => line.msg === 'task changed' && line.to !== 'running')
    const { status, error } = (await record(id)) as { status: string; error: { code: string } | null }
    t.same([status, error?.code], [ends[index], codes[index]], word)
  }
})

t.test('what a new task is made of has ended well: 409 before its end, and 400 where it has failed', async t => {
  const remix = (one: Stage, id: string) => one.gateway.request(`/v1/videos/${id}/remix`, { body: { prompt: 'A dog' } })
  const going = await stage(t, compatible({ status: 'in_progress' }))
  const early = await remix(going, await going.begin())
  compatibleError(t, early, 409, 'not_ready')
  t.match(early.header('retry-after'), /^\d+$/)
  const failed = await stage(t, compatible({ status: 'failed' }))
  const id = await failed.begin()
  await failed.reaches(id, 'failed')
  const vain = await remix(failed, id)
  compatibleError(t, vain, 400, 'invalid_value')
  t.equal(vain.header('retry-after'), undefined)
  t.equal(failed.upstream.submits.length, 1)
})

t.test('F-T2 an upstream that is removed from the configuration: failed with a reason', async t => {
  const { begin, gateway, upstream, reaches } = await stage(
    t,
    compatible({ status: 'running' }),
    'poll: { every: 20ms }, deadline: 4s',
  )
  const id = await begin()
  await gateway.log.find(line => line.to === 'running')
  await gateway.write(
    'gateway.yaml',
    filmYaml(upstream.origin).replace('  up:\n', '  elsewhere:\n').replace('film: up', 'film: elsewhere'),
  )
  await gateway.gateway.reload()
  t.match(await reaches(id, 'failed'), { error: { code: 'target_gone' } })
})

t.test('a reload that leaves the upstream its name continues with its tasks', async t => {
  let done = false
  const script: TaskScript = (request, upstream) => compatible(done ? DONE : { status: 'running' })(request, upstream)
  const { begin, gateway, upstream, reaches } = await stage(t, script)
  const id = await begin()
  await gateway.log.find(line => line.to === 'running')
  await gateway.write('gateway.yaml', filmYaml(upstream.origin, 'poll: { every: 30ms }'))
  await gateway.gateway.reload()
  done = true
  t.match(await reaches(id, 'succeeded'), { status: 'completed' })
})

t.test('F-T2 an upstream that hangs: deadlines are kept, and tasks of other upstreams continue', async t => {
  const sound = await startTaskUpstream(t, compatible({ status: 'running' }, { status: 'running' }, DONE))
  const task = 'poll: { every: 20ms, slowest: 100ms, concurrency: 4 }, deadline: 800ms'
  const more = 'tasks: { lease: 3s }\n'
  const hangs: TaskScript = request => (request.method === 'POST' ? compatible({})(request, sound) : 'hang')
  const upstream = await startTaskUpstream(t, hangs)
  const yaml = filmYaml(upstream.origin, task, more)
    .replace(
      'upstreams:\n',
      `upstreams:\n  sound: { kind: openai, base: "${sound.origin}", secret: { env: UPSTREAM_KEY }, tasks: { poll: { every: 20ms } } }\n`,
    )
    .replace('film: up', 'film: up, other: sound')
  const gateway = await startTestGateway(t, yaml, { env: { OTHER_KEY: canary('caller') } })
  const begin = async (model: string): Promise<string> => {
    const answer = await gateway.request('/v1/videos', { body: { model, prompt: 'A cat' } })
    return (answer.json() as { id: string }).id
  }
  const ids = await Promise.all(Array.from({ length: 300 }, () => begin('film')))
  const id = await begin('other')
  await gateway.log.find(line => line.task === id && line.to === 'succeeded')
  for (const one of ids) await gateway.log.find(line => line.task === one && line.to === 'failed')
  const polls = upstream.requests.items.filter(({ method }) => method === 'GET').length
  t.ok(polls < 100, `${polls} polls: a task ends at its deadline without waiting for a poll`)
  const codes = new Set(gateway.log.items.filter(line => line.to === 'failed').map(line => line.code))
  t.same([...codes], ['deadline'])
  upstream.breakAll()
})

// ── beginning a task

t.test(
  'F-C15 what has no type is JSON, here and upstream; what is neither JSON nor a form is refused by both names',
  async t => {
    const { gateway, upstream } = await stage(t, compatible(DONE))
    const ask = async (type: string): Promise<Answer> => {
      const body = JSON.stringify(BODY)
      const client = await connectRaw(t, gateway.origin)
      const head = `POST /v1/videos HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n${type}`
      await client.send(`${head}content-length: ${body.length}\r\n\r\n${body}`)
      return await client.answer()
    }
    t.match((await ask('')).json(), { object: 'video', status: 'queued' })
    t.equal(upstream.submits[0]?.headers['content-type'], 'application/json')
    for (const type of ['text/plain', 'application/x-www-form-urlencoded']) {
      const { message } = compatibleError(t, await ask(`content-type: ${type}\r\n`), 415, 'unsupported_media_type')
      t.match(message, /application\/json or multipart\/form-data/)
    }
    t.equal(upstream.submits.length, 1)
  },
)

t.test('a refusal begins nothing, and is passed on', async t => {
  const refusal = {
    error: { message: 'No cats.', type: 'invalid_request_error', param: 'prompt', code: 'moderation_blocked' },
  }
  const { gateway, upstream } = await stage(t, () => ({ status: 400, body: refusal }))
  const answer = await gateway.request('/v1/videos', { body: BODY })
  t.equal(answer.status, 400)
  t.same(answer.json(), refusal)
  t.match((await gateway.request('/v1/videos')).json(), { data: [] })
  t.equal(upstream.requests.items.length, 1)
})

t.test('an upstream that cannot be reached, or is busy, hands over to the next one', async t => {
  const upstream = await startTaskUpstream(t, compatible(DONE))
  const busy = await startTaskUpstream(t, () => ({ status: 503 }))
  const closed = await startTaskUpstream(t, () => ({}))
  await closed.close()
  const yaml = filmYaml(upstream.origin)
    .replace(
      'upstreams:\n',
      `upstreams:\n  dead: { kind: openai, base: "http://127.0.0.1:1", secret: { env: UPSTREAM_KEY } }\n  busy: { kind: openai, base: "${busy.origin}", secret: { env: UPSTREAM_KEY } }\n`,
    )
    .replace('film: up', 'film: [dead, busy, up]')
  const gateway = await startTestGateway(t, yaml)
  const answer = await gateway.request('/v1/videos', { body: BODY })
  t.equal(answer.status, 200)
  t.equal(busy.submits.length, 1)
  t.equal(upstream.submits.length, 1)
  const { id } = answer.json() as { id: string }
  await gateway.log.find(line => line.task === id && line.to === 'succeeded' && line.upstream === 'up')
})

for (const [what, answer] of [
  ['breaks the connection', 'reset'],
  ['fails', { status: 500, body: { error: { message: 'Oops.', type: 'server_error', param: null, code: null } } }],
] as const) {
  t.test(`an upstream that ${what} after it had the request is not asked again, nor is another one`, async t => {
    const second = await startTaskUpstream(t, compatible(DONE))
    const first = await startTaskUpstream(t, () => answer)
    const yaml = filmYaml(second.origin)
      .replace(
        'upstreams:\n',
        `upstreams:\n  first: { kind: openai, base: "${first.origin}", secret: { env: UPSTREAM_KEY } }\n`,
      )
      .replace('film: up', 'film: [first, up]')
    const gateway = await startTestGateway(t, yaml)
    const begun = await gateway.request('/v1/videos', { body: BODY })
    if (answer === 'reset') t.match(begun.json(), { status: 'queued' }, 'it may have begun, so it is a task')
    else {
      compatibleError(t, begun, 500)
      t.equal(begun.header('x-should-retry'), 'false', 'clients’ libraries do not repeat it by themselves')
    }
    t.equal(first.submits.length, 1)
    t.equal(second.submits.length, 0)
  })
}

t.test('a client that goes away while the upstream thinks: the task begins all the same', async t => {
  const { script, asked, answer } = held(compatible(DONE))
  const { gateway, upstream } = await stage(t, script)
  const client = await gateway.open('/v1/videos', { body: BODY })
  await asked
  client.socket.destroy()
  await gateway.log.find(line => line.outcome === 'client_abort')
  answer()
  await gateway.log.find(line => line.msg === 'task changed' && line.to === 'succeeded')
  t.equal(upstream.submits.length, 1)
  t.match((await gateway.request('/v1/videos')).json(), { data: [{ status: 'completed' }] })
})

t.test('a client that goes away while its form is being sent: the task begins all the same', async t => {
  const [asked, read] = [withResolvers<void>(), withResolvers<void>()]
  const sizes: number[] = []
  const upstream = createServer(async (request, response) => {
    if (request.method === 'POST') {
      request.pause()
      asked.resolve()
      await read.promise
      let size = 0
      for await (const chunk of request) size += chunk.length
      sizes.push(size)
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: 'v1', status: 'running' }))
  })
  const port = await listening(t, upstream)
  const gateway = await startTestGateway(t, filmYaml(`http://127.0.0.1:${port}`))
  const picture = noise(16 * 1024 * 1024)
  const parts: Part[] = [
    ['model', 'film'],
    ['prompt', 'A cat'],
    ['input_reference', picture, 'image/png'],
  ]
  const client = await gateway.open('/v1/videos', sending(formOf(...parts)))
  await asked.promise
  client.socket.destroy()
  await gateway.log.find(line => line.outcome === 'client_abort')
  read.resolve()
  await gateway.log.find(line => line.msg === 'task changed' && line.to === 'running')
  t.ok((sizes[0] ?? 0) > picture.length)
})

t.test('Idempotency-Key: the same request is the same task, another one is refused', async t => {
  const { gateway, upstream, begin, other } = await stage(t, compatible({ status: 'running' }))
  const headers = { 'idempotency-key': 'order-1' }
  const id = await begin({}, headers)
  t.equal(await begin({}, headers), id)
  t.equal(upstream.submits.length, 1)
  const another = await gateway.request('/v1/videos', { body: { ...BODY, prompt: 'A dog' }, headers })
  compatibleError(t, another, 409, 'idempotency_key_reused')
  const theirs = await gateway.request('/v1/videos', { body: { ...BODY, prompt: 'A dog' }, headers, key: other })
  t.equal(theirs.status, 200, 'the same key of another caller is another key')
  t.not(await begin({}), id)
})

t.test('Idempotency-Key: a hundred at once are one task', async t => {
  const { upstream, begin } = await stage(t, compatible({ status: 'running' }))
  const ids = await Promise.all(Array.from({ length: 100 }, () => begin({}, { 'idempotency-key': 'k' })))
  t.equal(new Set(ids).size, 1)
  t.equal(upstream.submits.length, 1)
})

t.test('Idempotency-Key: a request while the first one is under way learns what came of that', async t => {
  const asked = withResolvers<void>()
  const refusal = withResolvers<void>()
  const script: TaskScript = async request => {
    if (request.method !== 'POST') return compatible(DONE)(request, undefined as never)
    if (upstream.submits.length > 1) return { body: { id: 'v2' } }
    asked.resolve()
    await refusal.promise
    return { status: 400 }
  }
  const { gateway, upstream } = await stage(t, script)
  const headers = { 'idempotency-key': 'k' }
  const first = gateway.request('/v1/videos', { body: BODY, headers })
  await asked.promise
  const client = await gateway.open('/v1/videos', { body: BODY, headers })
  const second = client.answer()
  // The second one has been read by now; nothing may be said of it before the upstream has spoken.
  const early = await Promise.race([second, gateway.request('/v1/videos').then(() => undefined)])
  t.equal(early, undefined)
  refusal.resolve()
  t.equal((await first).status, 400)
  const answer = await second
  t.equal(answer.status, 200)
  const { id } = answer.json() as { id: string }
  t.equal((await gateway.request(`/v1/videos/${id}`)).status, 200, 'a task that a client knows is there')
  t.match((await gateway.request('/v1/videos')).json(), { data: [{ id }], has_more: false })
})

t.test('Idempotency-Key: what was refused may be asked again', async t => {
  let refused = true
  const script: TaskScript = (request, upstream) => (refused ? { status: 400 } : compatible(DONE)(request, upstream))
  const { gateway, begin } = await stage(t, script)
  const headers = { 'idempotency-key': 'k' }
  t.equal((await gateway.request('/v1/videos', { body: BODY, headers })).status, 400)
  refused = false
  t.match(await begin({}, headers), /^task_/)
})

for (const [what, answer] of [
  ['502', { status: 502 }],
  ['504', { status: 504 }],
  ['an object without an id', { body: { status: 'queued' } }],
  ['what is no JSON', { body: Buffer.from('<html>') }],
] as const) {
  t.test(`a submit that is answered by ${what} may have begun: it is never sent twice`, async t => {
    const { begin, upstream, record } = await stage(t, () => answer)
    const headers = { 'idempotency-key': 'k' }
    const id = await begin({}, headers)
    t.equal(await begin({}, headers), id)
    t.equal(upstream.submits.length, 1)
    t.match(await record(id), { status: 'queued' })
  })
}

t.test('a task that is deleted while the upstream thinks: the upstream hears of it', async t => {
  const { script, asked, answer } = held(compatible({ status: 'running' }), one => one.json().prompt === 'A cat')
  const { gateway, upstream, begin, reaches } = await stage(t, script)
  const submit = gateway.request('/v1/videos', { body: BODY })
  await asked
  const { data } = (await gateway.request('/v1/videos')).json() as { data: { id: string }[] }
  const id = data[0]?.id ?? ''
  t.equal((await gateway.request(`/v1/videos/${id}`, { method: 'DELETE' })).status, 200)
  // By the time that a later one is being followed, someone has looked after the one that was deleted.
  await reaches(await begin({ prompt: 'A dog' }), 'running')
  answer()
  compatibleError(t, await submit, 404)
  await upstream.requests.find(({ method, target }) => method === 'DELETE' && target === '/v1/videos/vid_2')
  t.equal((await gateway.request(`/v1/videos/${id}`)).status, 404)
})

t.test('a record that reached no upstream is removed; if it may have, the task fails', async t => {
  const upstream = await startTaskUpstream(t, compatible(DONE))
  const path = temporary(t)
  const store = await openStore({ type: 'file', path })
  const now = Date.now()
  const known = { kind: 'video', owner: 'caller', route: 'POST /v1/videos', model: 'film', phase: 'submitting' }
  const begun = { state: 'queued', progress: 0, input: {}, fields: {}, artifacts: [], created: now, moved: now }
  const rest = { deadline: now + 3_600_000, pace: 1000, faults: 0, misses: 0, generation: 1 }
  const [unasked, asked] = [`task_${'0'.repeat(32)}`, `task_${'1'.repeat(32)}`]
  for (const [due, id, more] of [
    [now - 1, unasked, {}],
    [now, asked, { target: { upstream: 'up', model: 'film' } }],
  ] as const) {
    const value = Buffer.from(JSON.stringify({ id, ...known, ...begun, ...rest, ...more }))
    const draft = { namespace: 'tasks-video', owner: 'caller', key: id, created: now, expires: now + 3_600_000 }
    t.ok(await store.create({ ...draft, due, value }))
  }
  await store.close()
  const yaml = filmYaml(upstream.origin).replace('{ type: memory }', storeYaml({ type: 'file', path }))
  const gateway = await startTestGateway(t, yaml, { env: { OTHER_KEY: canary('caller') } })
  await gateway.log.find(line => line.task === asked && line.to === 'failed' && line.code === 'submit_unconfirmed')
  while ((await gateway.request(`/v1/videos/${unasked}`)).status === 200);
  t.match((await gateway.request('/v1/videos')).json(), { data: [{ id: asked, status: 'failed' }], has_more: false })
  t.equal(upstream.requests.items.length, 0)
})

for (const isLong of [false, true]) {
  const [away, becomes] = isLong ? ['for long', 'not asked again'] : ['for a moment', 'kept in mind']
  t.test(
    `the store is gone ${away} when the upstream has taken a task: it is ${becomes}`,
    { skip: withoutRedis },
    async t => {
      const server = await startRedis(t, ['--appendonly', 'yes', '--appendfsync', 'always'])
      const { script, asked, answer } = held(compatible(DONE))
      const upstream = await startTaskUpstream(t, script)
      const store = storeYaml(redisConfig(temporary(t), server.port, 1000))
      const yaml = filmYaml(upstream.origin).replace('{ type: memory }', store)
      const gateway = await startTestGateway(t, yaml, { env: { OTHER_KEY: canary('caller') } })
      const submit = gateway.request('/v1/videos', { body: BODY })
      await asked
      await server.kill()
      answer()
      compatibleError(t, await gateway.request('/v1/videos'), 503)
      if (isLong) {
        fastClock(t, Date)
        t.match([(await submit).status, (await submit).json()], [200, { status: 'queued' }], 'it may be at work')
      }
      await server.restart()
      const begun = await submit
      t.equal(begun.status, 200)
      const { id } = begun.json() as { id: string }
      const to = isLong ? 'failed' : 'succeeded'
      await gateway.log.find(line => line.msg === 'task changed' && line.task === id && line.to === to)
      const error = isLong ? { code: 'submit_unconfirmed' } : null
      t.match((await gateway.request(`/v1/videos/${id}`)).json(), { id, error })
      t.equal(upstream.submits.length, 1)
    },
  )
}

t.test('a task of the second upstream stands as long as that one may take', async t => {
  const upstream = await startTaskUpstream(t, compatible(DONE))
  const busy = await startTaskUpstream(t, () => ({ status: 503 }))
  const brief = 'tasks: { deadline: 1s, grace: 1ms, retention: 1ms }'
  const yaml = filmYaml(upstream.origin, 'poll: { first: 1500ms, every: 20ms }, deadline: 1h')
    .replace(
      'upstreams:\n',
      `upstreams:\n  busy: { kind: openai, base: "${busy.origin}", secret: { env: UPSTREAM_KEY }, ${brief} }\n`,
    )
    .replace('film: up', 'film: [busy, up]')
  const gateway = await startTestGateway(t, yaml)
  const { id } = (await gateway.request('/v1/videos', { body: BODY })).json() as { id: string }
  await gateway.log.find(line => line.msg === 'task changed' && line.task === id && line.to === 'succeeded')
  t.equal((await gateway.request(`/v1/videos/${id}`)).status, 200)
})

// ── F-T3: the upstream's pace; tasks-polled.test.ts has the polls of clients

t.test('F-T3 Retry-After of a poll is obeyed', async t => {
  let polls = 0
  const script: TaskScript = ({ method }) => {
    if (method === 'POST') return { body: { id: 'v1' } }
    polls++
    return polls === 1 ? { status: 429, headers: { 'retry-after': '3600' } } : { body: { status: 'running' } }
  }
  const { begin, upstream, record } = await stage(t, script, 'poll: { every: 5ms }')
  const id = await begin()
  await upstream.requests.count(2)
  // Another task of the same upstream would have been polled a hundred times by now.
  for (let n = 0; n < 100; n++) await record(id)
  t.equal(polls, 1)
})

t.test('a list continues after a task that has been deleted meanwhile', async t => {
  const { gateway, begin, upstream, other } = await stage(t, compatible({ status: 'running' }))
  const ids: string[] = []
  for (let n = 0; n < 6; n++) ids.push(await begin())
  const seen: string[] = []
  for (let after = ''; ; ) {
    const page = await gateway.request(`/v1/videos?limit=2${after}`)
    t.equal(page.status, 200)
    const { data, has_more } = page.json() as { data: { id: string }[]; has_more: boolean }
    seen.push(...data.map(({ id }) => id))
    for (const { id } of data) await gateway.request(`/v1/videos/${id}`, { method: 'DELETE' })
    await upstream.requests.count(seen.length, ({ method }) => method === 'DELETE')
    if (!has_more) break
    after = `&after=${data.at(-1)?.id}`
  }
  t.same([...seen].sort(), [...ids].sort())
  const theirs = await gateway.request(`/v1/videos?after=${seen[0]}`, { key: other })
  compatibleError(t, theirs, 400)
})

t.test('a store without room for the position of a deleted task does not keep the task', async t => {
  const { gateway, begin } = await stage(t, compatible({ status: 'running' }))
  const { create, delete: remove } = MemoryStore.prototype
  t.teardown(() => Object.assign(MemoryStore.prototype, { create, delete: remove }))
  const removed = new Journal<string>('records that are removed')
  MemoryStore.prototype.create = async function (draft) {
    if (draft.namespace === 'tasks-gone') throw new StoreError('full', 'there is no room')
    return await create.call(this, draft)
  }
  MemoryStore.prototype.delete = async function (place) {
    removed.push(place.key)
    return await remove.call(this, place)
  }
  const id = await begin()
  t.equal((await gateway.request(`/v1/videos/${id}`, { method: 'DELETE' })).status, 200)
  await removed.find(key => key === id)
})

// ── F-T4: content

async function ended(
  t: Test,
  script: TaskScript = compatible(DONE),
  task?: string,
  more?: string,
): Promise<Stage & { readonly id: string }> {
  const made = await stage(t, script, task, more)
  const id = await made.begin()
  await made.reaches(id, 'succeeded')
  return { ...made, id }
}

/** A browser that opens it runs nothing of it. */
function inert(t: Test, answer: Answer): void {
  t.equal(answer.header('x-content-type-options'), 'nosniff')
  t.equal(answer.header('content-security-policy'), undefined, 'players show nothing under one')
}

t.test('what may hold scripts has a policy under which none runs', async t => {
  for (const type of ['image/svg+xml', 'text/html', 'application/pdf', 'application/xml'])
    t.match(inertHeaders(type).at(-1), 'sandbox', type)
  for (const type of ['image/png', 'video/mp4', 'audio/mpeg']) t.equal(inertHeaders(type).length, 2, type)
})

t.test('F-T4 content: whole, in part, only its head, not again, and not what it is not', async t => {
  const { gateway, upstream, id } = await ended(t)
  const path = `/v1/videos/${id}/content`
  const whole = await gateway.request(path)
  inert(t, whole)
  t.equal(whole.status, 200)
  t.same(whole.body, FILM)
  t.equal(whole.header('accept-ranges'), 'bytes')
  t.match(whole.header('cache-control'), /^private/)
  const etag = whole.header('etag') ?? ''
  const part = await gateway.request(path, { headers: { range: 'bytes=100-199' } })
  t.equal(part.status, 206)
  t.equal(part.header('content-range'), `bytes 100-199/${FILM.length}`)
  t.same(part.body, FILM.subarray(100, 200))
  const same = await gateway.request(path, { headers: { range: 'bytes=100-199', 'if-range': etag } })
  t.equal(same.status, 206)
  const changed = await gateway.request(path, { headers: { range: 'bytes=100-199', 'if-range': '"another"' } })
  t.equal(changed.status, 200, 'a range of something else is of no use')
  t.equal((await gateway.request(path, { headers: { range: 'bytes=0-9, 20-29' } })).status, 200)
  t.equal(upstream.requests.items.at(-1)?.headers.range, undefined, 'several parts are the whole')
  const beyond = await gateway.request(path, { headers: { range: `bytes=${FILM.length}-` } })
  t.equal(beyond.status, 416)
  t.equal(beyond.header('content-range'), `bytes */${FILM.length}`)
  const known = await gateway.request(path, { headers: { 'if-none-match': `"x", ${etag}` } })
  t.equal(known.status, 304)
  const head = await fetch(`${gateway.origin}${path}`, {
    method: 'HEAD',
    headers: { authorization: `Bearer ${gateway.key}` },
  })
  t.equal(head.status, 200)
  t.equal(head.headers.get('content-length'), String(FILM.length))
  compatibleError(t, await gateway.request(`${path}?variant=director`), 400, 'invalid_value')
})

t.test('F-T4 content before the end: 409, and when to ask again', async t => {
  const { gateway, begin } = await stage(t, compatible({ status: 'running' }), 'poll: { every: 2s }')
  const answer = await gateway.request(`/v1/videos/${await begin()}/content`)
  compatibleError(t, answer, 409, 'not_ready')
  t.equal(answer.header('retry-after'), '2')
})

t.test('F-T4 content before the end: a route may say so by another status', async t => {
  const route =
    'routes: { "GET /v1/videos/{task_id}/content": { task: { kind: video, action: content, not_ready: 400 } } }\n'
  const { gateway, begin } = await stage(t, compatible({ status: 'running' }), 'poll: { every: 2s }', route)
  const answer = await gateway.request(`/v1/videos/${await begin()}/content`)
  compatibleError(t, answer, 400, 'not_ready')
  t.equal(answer.header('retry-after'), '2')
})

t.test('F-T4 content that has expired: 410, here and upstream', async t => {
  const gone: TaskScript = request =>
    request.target.endsWith('/content') && request.headers.range === undefined
      ? { status: 404 }
      : compatible(DONE)(request, undefined as never)
  const there = await ended(t, gone)
  compatibleError(t, await there.gateway.request(`/v1/videos/${there.id}/content`), 410, 'expired')
  const here = await ended(t, compatible(DONE), 'poll: { every: 20ms }, retention: 1ms')
  compatibleError(t, await here.gateway.request(`/v1/videos/${here.id}/content`), 410, 'expired')
  t.match(await here.record(here.id), { status: 'completed' }, 'the task itself is still known')
})

t.test('F-T4 JSON or a page instead of the video never reaches the client', async t => {
  for (const type of ['application/json', 'text/html']) {
    const script: TaskScript = request =>
      request.target.endsWith('/content') && request.headers.range === undefined
        ? { headers: { 'content-type': type }, body: { error: 'oops' } }
        : compatible(DONE)(request, undefined as never)
    const { gateway, id } = await ended(t, script)
    compatibleError(t, await gateway.request(`/v1/videos/${id}/content`), 502, 'bad_upstream_response')
  }
})

t.test('F-T4 a fetch that breaks before its first byte is tried again, and nothing is begun anew', async t => {
  let fetches = 0
  const script: TaskScript = request => {
    const isFetch = request.target.endsWith('/content') && request.headers.range === undefined
    if (isFetch && ++fetches < 3) return fetches === 1 ? 'reset' : { status: 503 }
    return compatible(DONE)(request, undefined as never)
  }
  const { gateway, id, upstream } = await ended(t, script)
  t.same((await gateway.request(`/v1/videos/${id}/content`)).body, FILM)
  t.equal(fetches, 3)
  t.equal(upstream.submits.length, 1)
})

t.test('F-U5 a head alone reaches no client: it is tried again, and reported in the end', async t => {
  const nothing = {
    headers: { 'content-type': 'video/mp4', 'content-length': String(FILM.length) },
    body: Buffer.alloc(0),
  }
  let silent = 1
  const script: TaskScript = request => {
    const isFetch = request.target.endsWith('/content') && request.headers.range === undefined
    return isFetch && silent-- > 0 ? nothing : compatible(DONE)(request, undefined as never)
  }
  const { gateway, id } = await ended(t, script, 'poll: { every: 20ms }', 'timeouts: { first_byte: 1s, idle: 1s }\n')
  const path = `/v1/videos/${id}/content`
  t.same((await gateway.request(path)).body, FILM)
  silent = 3
  compatibleError(t, await gateway.request(path), 504, 'upstream_timeout')
})

t.test('F-U13 a video of no bytes is not one', async t => {
  const script: TaskScript = request => {
    const isFetch = request.target.endsWith('/content') && request.headers.range === undefined
    return isFetch ? { body: Buffer.alloc(0) } : compatible(DONE)(request, undefined as never)
  }
  const { gateway, id } = await ended(t, script)
  compatibleError(t, await gateway.request(`/v1/videos/${id}/content`), 502, 'bad_upstream_response')
})

t.test('F-T4 a fetch that breaks in the middle shows as a broken transfer; the rest comes by its range', async t => {
  const script: TaskScript = request => {
    const isFetch = request.target.endsWith('/content') && request.headers.range === undefined
    const short = {
      headers: { 'content-type': 'video/mp4', 'content-length': String(FILM.length) },
      body: FILM.subarray(0, 1000),
    }
    return isFetch ? short : compatible(DONE)(request, undefined as never)
  }
  const { gateway, id, upstream } = await ended(t, script)
  const asking = gateway.open(`/v1/videos/${id}/content`)
  await upstream.requests.find(({ target, headers }) => target.endsWith('/content') && headers.range === undefined)
  const client = await asking
  const head = await client.head()
  const first = await client.body(head, bytes => bytes.length >= 1000)
  upstream.breakAll()
  await client.closed()
  const cut = { whole: first.whole, body: first.body }
  t.equal(cut.whole, false)
  const rest = await gateway.request(`/v1/videos/${id}/content`, { headers: { range: `bytes=${cut.body.length}-` } })
  t.same(Buffer.concat([cut.body, rest.body]), FILM)
})

t.test('F-T4 content elsewhere: redirects are followed without the credential, signed addresses expire', async t => {
  const status = { now: 200 }
  const host = await startTaskUpstream(
    t,
    ({ headers }) => (status.now === 200 ? film(headers.range) : { status: status.now }),
    '127.0.0.2',
  )
  const script: TaskScript = request =>
    request.target.endsWith('/content')
      ? { status: 302, headers: { location: `${host.origin}/signed.mp4?x=1` } }
      : compatible(DONE)(request, undefined as never)
  const fetch = `{ allow: [127.0.0.2], http: true, ports: [${host.port}] }`
  const proved: TaskScript = request =>
    request.headers.range === 'bytes=0-0' ? film('bytes=0-0') : script(request, undefined as never)
  const made = await stage(t, proved, undefined, `media: { fetch: ${fetch} }`)
  const id = await made.begin()
  await made.reaches(id, 'succeeded')
  const path = `/v1/videos/${id}/content`
  t.same((await made.gateway.request(path)).body, FILM)
  t.equal(host.requests.items[0]?.target, '/signed.mp4?x=1')
  t.equal(host.requests.items[0]?.headers.authorization, undefined)
  status.now = 403
  compatibleError(t, await made.gateway.request(path), 410, 'expired')
})

t.test('F-T4 content that the upstream serves by a redirect, or not by its first byte, is a result', async t => {
  const host = await startTaskUpstream(t, ({ headers }) => film(headers.range), '127.0.0.2')
  for (const answer of [
    { status: 302, headers: { location: `${host.origin}/signed.mp4` } },
    { status: 307, headers: { location: '/v1/videos/elsewhere/content' } },
    { status: 416, headers: {} },
  ]) {
    const script: TaskScript = request =>
      request.target.endsWith('/content') ? answer : compatible(DONE)(request, undefined as never)
    const { id, record } = await ended(t, script)
    t.match(await record(id), { status: 'completed' })
  }
  const empty: TaskScript = request =>
    request.target.endsWith('/content')
      ? { status: 416, headers: { 'content-range': 'bytes */0' } }
      : compatible(DONE)(request, undefined as never)
  const { begin, reaches } = await stage(t, empty)
  t.match(await reaches(await begin(), 'failed'), { error: { code: 'no_artifact' } })
})

t.test('F-A1 a place elsewhere that leads back to the upstream does not get its credential', async t => {
  const host = await startTaskUpstream(
    t,
    () => ({ status: 302, headers: { location: `${upstream.origin}/v1/stolen` } }),
    '127.0.0.2',
  )
  const script: TaskScript = request => {
    if (request.target === '/v1/stolen') return film(request.headers.range)
    return request.target.endsWith('/content')
      ? { status: 302, headers: { location: `${host.origin}/a.mp4` } }
      : compatible(DONE)(request, undefined as never)
  }
  const upstream = await startTaskUpstream(t, script)
  const fetch = `{ allow: [127.0.0.1, 127.0.0.2], http: true, ports: [${host.port}, ${upstream.port}] }`
  const yaml = filmYaml(upstream.origin, undefined, `media: { fetch: ${fetch} }`)
  const gateway = await startTestGateway(t, yaml, { env: { OTHER_KEY: canary('caller') } })
  const { id } = (await gateway.request('/v1/videos', { body: BODY })).json() as { id: string }
  await gateway.log.find(line => line.task === id && line.to === 'succeeded')
  t.same((await gateway.request(`/v1/videos/${id}/content`)).body, FILM)
  const back = upstream.requests.items.find(({ target }) => target === '/v1/stolen')
  t.ok(back)
  t.equal(back?.headers.authorization, undefined)
})

t.test('F-T4 a part that no one asked for does not pass for the whole', async t => {
  const script: TaskScript = request =>
    request.target.endsWith('/content') ? film('bytes=0-9') : compatible(DONE)(request, undefined as never)
  const { gateway, id } = await ended(t, script)
  compatibleError(t, await gateway.request(`/v1/videos/${id}/content`), 502, 'bad_upstream_response')
})

/** A task whose upstream says itself where its result is. */
async function shown(
  t: Test,
  url: string,
  rest: TaskScript = () => ({ status: 404 }),
): Promise<Stage & { id: string }> {
  const script: TaskScript = request => {
    if (request.target.startsWith('/made')) return rest(request, undefined as never)
    return compatible({ ...DONE, film: { url } })(request, undefined as never)
  }
  return await ended(t, script, 'poll: { every: 20ms }, result: { video: film.url }')
}

t.test('F-T4 a result in the answer itself: a video, or nothing; in part where a part is asked for', async t => {
  const page = await shown(t, `data:text/html;base64,${Buffer.from('<script>').toString('base64')}`)
  const refused = await page.gateway.request(`/v1/videos/${page.id}/content`)
  compatibleError(t, refused, 502, 'bad_upstream_response')
  const { gateway, id } = await shown(t, `data:video/mp4;base64,${FILM.toString('base64')}`)
  const path = `/v1/videos/${id}/content`
  const whole = await gateway.request(path)
  t.equal(whole.header('content-type'), 'video/mp4')
  inert(t, whole)
  t.same(whole.body, FILM)
  const backwards = await gateway.request(path, { headers: { range: 'bytes=5-2' } })
  t.equal(backwards.status, 200, 'an invalid range is ignored')
  t.same(backwards.body, FILM)
  t.equal((await gateway.request(path, { headers: { range: 'bytes=9999-' } })).status, 416)
  const part = await gateway.request(path, { headers: { range: 'bytes=-10' } })
  t.same(part.body, FILM.subarray(-10))
})

t.test('F-C14 a path that an upstream gives goes to it as the URL parser has it', async t => {
  const { gateway, id, upstream } = await shown(t, '/made by\r\nhand.mp4', ({ headers }) => film(headers.range))
  const answer = await gateway.request(`/v1/videos/${id}/content`)
  t.equal(answer.status, 200)
  t.same(answer.body, FILM)
  t.equal(upstream.requests.items.at(-1)?.target, '/made%20byhand.mp4')
})

t.test('F-X1 content at an inner address that no one allowed is not fetched', async t => {
  const host = await startTaskUpstream(t, () => film(undefined), '127.0.0.3')
  for (const location of [
    `${host.origin}/a.mp4`,
    `http://127.0.0.3:${host.port}/a.mp4`,
    'file:///etc/passwd',
    'https://[::ffff:127.0.0.3]/a',
  ]) {
    const script: TaskScript = request => {
      if (!request.target.endsWith('/content') || request.headers.range === 'bytes=0-0')
        return compatible(DONE)(request, undefined as never)
      return { status: 302, headers: { location } }
    }
    const { gateway, id } = await ended(t, script)
    compatibleError(t, await gateway.request(`/v1/videos/${id}/content`), 502, 'bad_upstream_response')
  }
  t.equal(host.requests.items.length, 0)
})

proveNoLeak(t)
