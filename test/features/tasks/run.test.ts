import { join } from 'node:path'
import t, { type Test } from 'tap'
import { GatewayError } from '../../../src/core/errors.js'
import { TaskRepository } from '../../../src/features/tasks/repository.js'
import { type Bin, start } from '../../cli/bin.js'
import { command } from '../../cli/in-process.js'
import { body, json } from '../../helpers/answers.js'
import { startTestGateway, type TestGateway } from '../../helpers/gateway.js'
import { Journal, withResolvers } from '../../helpers/journal.js'
import { type Answer, request } from '../../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../../helpers/raw-upstream.js'
import { DURABLE, storeYaml } from '../../helpers/store-kinds.js'
import { sample } from '../../net/media-host.js'

// Tasks whose work is a plain request of another route.

const PNG = sample('image/png')
const DRAWN = { created: 1, data: [{ b64_json: PNG.toString('base64'), revised_prompt: 'a deep lake' }] }

function yamlOf(up: RawUpstream, store: string): string {
  return `version: 1
store: ${store}
groups: { few: { limits: { requests: 2/day } } }
keys:
  caller: { secret: { env: CALLER_KEY } }
  few: { secret: { env: FEW_KEY }, group: few }
upstreams: { up: { base: "${up.origin}", speaks: { images.generations: POST /images } } }
models: { m: up }
tasks: { lease: 1s }
routes:
  POST /v1/image-tasks:
    task:
      { kind: media, action: run, route: POST /v1/images/generations, result: data.0.b64_json, fields: { revised: data.0.revised_prompt } }
  GET /v1/image-tasks: { task: { kind: media, action: list } }
  GET /v1/image-tasks/{id}: { task: { kind: media, action: retrieve } }
  GET /v1/image-tasks/{id}/content: { task: { kind: media, action: content } }
  POST /v1/image-tasks/{id}/cancel: { task: { kind: media, action: cancel } }
  DELETE /v1/image-tasks/{id}: { task: { kind: media, action: delete } }
`
}

interface Stage {
  readonly up: RawUpstream
  readonly gateway: TestGateway
  begin(options?: {
    readonly key?: string
    readonly headers?: Record<string, string>
    readonly body?: object
  }): Promise<Answer>
}

const FEW_KEY = 'the-key-of-few-0123456789'

async function stage(t: Test, store = '{ type: memory }'): Promise<Stage> {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(t, yamlOf(up, store), { env: { FEW_KEY } })
  const begin: Stage['begin'] = ({ key = gateway.key, headers = {}, body = { model: 'm', prompt: 'a lake' } } = {}) =>
    request(t, gateway.origin, '/v1/image-tasks', { key, headers, body })
  return { up, gateway, begin }
}

interface Shown {
  readonly id: string
  readonly status: string
  readonly error?: { readonly code: string; readonly message: string }
}

const shown = (answer: Answer): Shown => answer.json() as Shown

/** The record when the log says that the task has ended so. */
async function ended(t: Test, { gateway }: Stage, id: string, to: string, key = gateway.key): Promise<Shown> {
  await gateway.log.find(line => line.msg === 'task changed' && line.task === id && line.to === to)
  return shown(await request(t, gateway.origin, `/v1/image-tasks/${id}`, { key }))
}

t.test('a task is answered at once, and has the result of the plain call', async t => {
  const ready = await stage(t)
  const { up, gateway, begin } = ready
  let go: () => void = () => undefined
  const held = new Promise<void>(resolve => {
    go = resolve
  })
  up.answer(async peer => {
    await held
    await json(DRAWN)(peer)
  })
  const answer = await begin({ headers: { 'idempotency-key': 'one' } })
  t.equal(answer.status, 200)
  const { id, status } = shown(answer)
  t.match(id, /^task_/)
  t.equal(status, 'in_progress', 'the upstream has not answered')
  t.equal(shown(await begin({ headers: { 'idempotency-key': 'one' } })).id, id, 'the same request is the same task')
  const early = await gateway.request(`/v1/image-tasks/${id}/content`)
  t.equal(early.status, 409)
  go()
  const record = await ended(t, ready, id, 'succeeded')
  t.match(record, { status: 'completed', revised: 'a deep lake' })
  const content = await gateway.request(`/v1/image-tasks/${id}/content`)
  t.equal(content.header('content-type'), 'image/png')
  t.same(content.body, PNG)
  t.equal(up.requests.items.length, 1)
  t.match(up.requests.items[0]?.json(), { model: 'm', prompt: 'a lake' })
  const line = await gateway.log.find(one => one.msg === 'request' && one.route === 'POST /v1/images/generations')
  t.match(line, { key: 'caller', upstream: 'up', status: 200 }, 'the plain call is in the log')
})

t.test('what the plain call refuses is the failure of the task, and its limits hold once', async t => {
  const ready = await stage(t)
  const { up, begin } = ready
  const unknown = shown(await begin({ body: { model: 'none', prompt: 'x' } }))
  t.match((await ended(t, ready, unknown.id, 'failed')).error, { code: 'model_not_found', message: /none/ })
  up.answer(json({ error: { message: 'no cats', code: 'no_cats' } }, { status: 400 }))
  const refused = shown(await begin())
  t.match((await ended(t, ready, refused.id, 'failed')).error, { code: 'no_cats', message: /no cats/ })
  up.answer(json(DRAWN))
  const states: string[] = []
  for (const to of ['succeeded', 'succeeded', 'failed']) {
    const { id } = shown(await begin({ key: FEW_KEY }))
    const record = await ended(t, ready, id, to, FEW_KEY)
    states.push(record.error?.code ?? record.status)
  }
  t.same(states, ['completed', 'completed', 'rate_limited'], 'two requests a day: the task itself counts as none')
  t.equal((await begin({ body: [] as never })).status, 400)
})

t.test('a task whose answer has no result at the declared place has failed', async t => {
  const ready = await stage(t)
  const { up, begin } = ready
  up.answer(json({ created: 1, data: [{ url: 'https://cdn.example/1.png' }] }))
  const { id } = shown(await begin())
  t.match((await ended(t, ready, id, 'failed')).error, { code: 'no_artifact' })
})

t.test('a task whose answer is empty has failed; without a declared place, JSON is a result', async t => {
  const up = await startRawUpstream(t)
  const gateway = await startTestGateway(
    t,
    `version: 1
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams: { up: { base: "${up.origin}", speaks: { sounds: POST /sounds } } }
models: { m: up }
routes:
  POST /v1/sounds: { protocol: sounds, model: body.model }
  POST /v1/sound-tasks: { task: { kind: media, action: run, route: POST /v1/sounds } }
`,
  )
  const headers = { 'content-type': 'audio/mpeg' }
  for (const [answer, to] of [
    [body('', { headers }), 'failed'],
    [body('ID3', { headers }), 'succeeded'],
    [json({ made: true }), 'succeeded'],
  ] as const) {
    up.answer(answer)
    const { id } = shown(await gateway.request('/v1/sound-tasks', { body: { model: 'm' } }))
    const line = await gateway.log.find(({ msg, task }) => msg === 'task changed' && task === id)
    t.match(line, { to, ...(to === 'failed' && { code: 'no_artifact' }) })
  }
})

t.test('a cancelled task ends the plain call', async t => {
  const ready = await stage(t)
  const { up, gateway, begin } = ready
  up.answer(peer => peer.gone())
  const { id } = shown(await begin())
  await up.requests.count(1)
  const answer = await gateway.request(`/v1/image-tasks/${id}/cancel`, { method: 'POST' })
  t.equal(answer.status, 200)
  t.match(await gateway.log.find(one => one.msg === 'request' && one.route === 'POST /v1/images/generations'), {
    status: 499,
  })
  const after = shown(await gateway.request(`/v1/image-tasks/${id}`))
  t.match(after.error, { code: 'cancelled' })
})

for (const kind of DURABLE) {
  t.test(`so does one that another process cancels or deletes (${kind.type})`, { skip: kind.skip }, async t => {
    const store = storeYaml(await kind.make(t))
    const { up, begin } = await stage(t, store)
    const other = await startTestGateway(t, yamlOf(up, store), { env: { FEW_KEY } })
    up.answer(peer => peer.gone())
    for (const [n, [method, path]] of [['POST', '/cancel'] as const, ['DELETE', ''] as const].entries()) {
      const { id } = shown(await begin({ key: FEW_KEY }))
      await up.requests.count(n + 1)
      const answer = await request(t, other.origin, `/v1/image-tasks/${id}${path}`, { key: FEW_KEY, method })
      t.equal(answer.status, 200, answer.text)
      await up.aborts.count(n + 1)
    }
  })
}

t.test('one key leaves places for others, and no burst takes more than there are', async t => {
  const { up, gateway, begin } = await stage(t)
  const { create } = TaskRepository.prototype
  t.teardown(() => Object.assign(TaskRepository.prototype, { create }))
  const go = withResolvers<void>()
  up.answer(async peer => {
    await go.promise
    await json(DRAWN)(peer)
  })
  const burst = async (before: () => void): Promise<Record<number, number>> => {
    const [asked, stored] = [new Journal<number>('requests'), withResolvers<void>()]
    TaskRepository.prototype.create = async function (...draft) {
      asked.push(200)
      await stored.promise
      before()
      return await create.apply(this, draft)
    }
    const answers = Array.from({ length: 260 }, async () => {
      const { status } = await begin()
      if (status === 503) asked.push(status)
      return status
    })
    await asked.count(260)
    stored.resolve()
    const statuses = await Promise.all(answers)
    return Object.fromEntries([...new Set(statuses)].map(one => [one, statuses.filter(two => two === one).length]))
  }
  const refuse = (): never => {
    throw new GatewayError('bad_request', 'Not begun.')
  }
  t.strictSame(await burst(refuse), { 400: 231, 503: 29 })
  t.strictSame(await burst(() => undefined), { 200: 231, 503: 29 }, 'what was not begun has left its place')
  t.equal((await begin()).status, 503)
  t.equal((await begin({ key: FEW_KEY })).status, 200)
  go.resolve()
  await gateway.log.count(232, line => line.msg === 'task changed')
  while ((await begin()).status === 503);
})

t.test('a result is not lost while the store is away, or while another process has the record', async t => {
  const ready = await stage(t)
  const { up, gateway, begin } = ready
  const { replace } = TaskRepository.prototype
  t.teardown(() => Object.assign(TaskRepository.prototype, { replace }))
  const go = withResolvers<void>()
  up.answer(async peer => {
    await go.promise
    await json(DRAWN)(peer)
  })
  const { id } = shown(await begin())
  await up.requests.count(1)
  let tries = 0
  TaskRepository.prototype.replace = async function (...change) {
    if (change[1].state !== 'succeeded') return await replace.apply(this, change)
    tries++
    if (tries <= 2) throw new GatewayError('unavailable', 'The store is away.', { phase: 'store' })
    return tries === 3 ? undefined : await replace.apply(this, change)
  }
  go.resolve()
  t.match(await ended(t, ready, id, 'succeeded'), { status: 'completed', revised: 'a deep lake' })
  t.same((await gateway.request(`/v1/image-tasks/${id}/content`)).body, PNG)
})

t.test('a task that its process did not end has failed, and says so', async t => {
  const up = await startRawUpstream(t)
  up.answer(peer => peer.gone())
  const folder = t.testdir({ 'gateway.yaml': `${yamlOf(up, '{ type: file }')}listen: { port: 0 }\n` })
  const file = join(folder, 'gateway.yaml')
  const env = { CALLER_KEY: 'the-key-of-the-caller-0123456789', FEW_KEY }
  const open = async (): Promise<{ readonly bin: Bin; readonly origin: string }> => {
    const bin = start(t, ['serve', file, '--no-watch'], { env })
    const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
    return { bin, origin }
  }
  const first = await open()
  const body = { model: 'm', prompt: 'a lake' }
  const { id } = shown(await request(t, first.origin, '/v1/image-tasks', { key: env.CALLER_KEY, body }))
  await up.requests.count(1)
  first.bin.child.kill('SIGKILL')
  await first.bin.ended
  const { bin, origin } = await open()
  await bin.until(new RegExp(`"msg":"task changed"[^\\n]*"${id}"`))
  const record = shown(await request(t, origin, `/v1/image-tasks/${id}`, { key: env.CALLER_KEY }))
  t.match(record, { status: 'failed', error: { code: 'interrupted' } })
  t.equal(up.requests.items.length, 1, 'it is not begun again')
})

t.test('a route that cannot be run is an error of the file', async t => {
  const up = await startRawUpstream(t)
  const text = yamlOf(up, '{ type: memory }')
  const env = { CALLER_KEY: 'the-key-of-the-caller-0123456789', FEW_KEY }
  for (const [other, words] of [
    ['route: POST /v1/videos', /no route "POST \/v1\/videos" takes a JSON body by POST/],
    ['route: POST /v1/nothing', /no route "POST \/v1\/nothing" takes/],
    ['label: x', /action: run and route belong together/],
  ] as const) {
    const folder = t.testdir({ 'gateway.yaml': text.replace('route: POST /v1/images/generations', other) })
    const { code, stdout, stderr } = await command(['validate', join(folder, 'gateway.yaml')], { env })
    t.equal(code, 1, other)
    t.match(stdout + stderr, words)
    t.match(stdout + stderr, /gateway\.yaml:\d+:\d+/)
  }
})
