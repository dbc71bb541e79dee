import { join } from 'node:path'
import t, { type Test } from 'tap'
import { openStore } from '../../src/runtime/stores.js'
import { canary, proveNoLeak } from '../helpers/canaries.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import {
  compatible,
  FILM,
  film,
  startTaskUpstream,
  type TaskRequest,
  type TaskScript,
} from '../helpers/task-upstream.js'

// An upstream's credential is replaced while tasks of the old one are under way.

const DONE = { status: 'completed' }
const BODY = { model: 'film', prompt: 'A cat' }
const OLD = canary('upstream')
const NEW = canary('upstream')
const env = { OLD_KEY: OLD, NEW_KEY: NEW }

const HEADER = '{ in: header, name: authorization, scheme: Bearer }'
const QUERY = '{ in: query, name: key }'

function yaml(origin: string, place: string, secrets: string, poll = 'poll: { every: 20ms }'): string {
  return `version: 1
store: { type: file, path: ./data }
keys: { caller: { secret: { env: CALLER_KEY } } }
upstreams:
  up: { kind: openai, base: "${origin}", credential: ${place}, ${secrets}, tasks: { ${poll} } }
models: { film: up }
`
}

const BEFORE = 'secret: { env: OLD_KEY }'
const BOTH = 'secret: { env: NEW_KEY }, previous_secrets: [{ env: GONE_KEY }, { env: OLD_KEY }]'
const AFTER = 'secret: { env: NEW_KEY }'

/** The credential that a request has. */
function usedBy({ headers, target }: TaskRequest): string | undefined {
  const [, bearer] = /^Bearer (.+)$/.exec(headers.authorization ?? '') ?? []
  return bearer ?? new URL(target, 'http://up').searchParams.get('key') ?? undefined
}

async function begin(gateway: TestGateway): Promise<string> {
  const answer = await gateway.request('/v1/videos', { body: BODY })
  if (answer.status !== 200) throw new Error(answer.text)
  return (answer.json() as { id: string }).id
}

/** A gateway that has begun a task with the old credential, and then been given other secrets. */
async function replaced(t: Test, script: TaskScript, place: string, secrets: string) {
  const upstream = await startTaskUpstream(t, script)
  const gateway = await startTestGateway(t, yaml(upstream.origin, place, BEFORE), { env })
  const id = await begin(gateway)
  await gateway.log.find(line => line.task === id && line.to === 'running')
  await gateway.write('gateway.yaml', yaml(upstream.origin, place, secrets))
  await gateway.gateway.reload()
  // What was asked before the reload is answered by now, and what is asked later is asked anew.
  const before = upstream.requests.items.length + 2
  await upstream.requests.count(before, ({ method }) => method === 'GET')
  const since = upstream.requests.items.length
  return { upstream, gateway, id, since: () => upstream.requests.items.slice(since) }
}

for (const [where, place] of [
  ['a header', HEADER],
  ['the query', QUERY],
] as const) {
  t.test(`a task goes on with the credential that began it, as long as that is named: in ${where}`, async t => {
    let done = false
    const script: TaskScript = (request, self) => {
      const path = request.target.split('?', 1)[0] ?? ''
      if (path.endsWith('/content')) return film(request.headers.range)
      return compatible(done ? DONE : { status: 'running' })({ ...request, target: path }, self)
    }
    const { gateway, upstream, id, since } = await replaced(t, script, place, BOTH)
    done = true
    await gateway.log.find(line => line.task === id && line.to === 'succeeded')
    t.same((await gateway.request(`/v1/videos/${id}/content`)).body, FILM)
    t.equal((await gateway.request(`/v1/videos/${id}`, { method: 'DELETE' })).status, 200)
    await upstream.requests.find(({ method }) => method === 'DELETE')
    t.same([...new Set(since().map(usedBy))], [OLD], 'polled, fetched and deleted with the old one')
    await begin(gateway)
    t.equal(usedBy(upstream.submits.at(-1) as TaskRequest), NEW, 'what begins now begins with the new one')
    t.notOk(gateway.log.items.some(line => String(line.msg).startsWith('tasks continue with another')))
  })
}

t.test('a task whose credential is no longer named continues with the present one, and the log says so', async t => {
  let done = false
  const script: TaskScript = (request, self) => compatible(done ? DONE : { status: 'running' })(request, self)
  const { gateway, upstream, id, since } = await replaced(t, script, HEADER, AFTER)
  const line = await gateway.log.find(line => String(line.msg).startsWith('tasks continue with another credential'))
  t.match(line, { upstream: 'up', task: id })
  await upstream.requests.count(upstream.requests.items.length + 3)
  done = true
  await gateway.log.find(line => line.task === id && line.to === 'succeeded')
  t.same([...new Set(since().map(usedBy))], [NEW])
  t.equal(gateway.log.items.filter(one => one.msg === line.msg).length, 1, 'once')
})

t.test('where the upstream does not know the task under the present credential, the failure says why', async t => {
  const script: TaskScript = (request, self) =>
    request.method === 'GET' && usedBy(request) !== OLD
      ? { status: 404 }
      : compatible({ status: 'running' })(request, self)
  const { gateway, id } = await replaced(t, script, HEADER, AFTER)
  await gateway.log.find(line => line.task === id && line.to === 'failed')
  t.match((await gateway.request(`/v1/videos/${id}`)).json(), { error: { code: 'credential_changed', message: /\w/ } })
})

t.test('a record tells credentials apart over a restart, and holds none', async t => {
  const { gateway, upstream, id, since } = await replaced(t, compatible({ status: 'running' }), HEADER, BOTH)
  await gateway.gateway.close()
  const store = await openStore({ type: 'file', path: join(gateway.folder, 'data') })
  const record = await store.get('tasks-video', 'caller', id)
  await store.close()
  const text = Buffer.from(record?.value ?? []).toString()
  t.match(JSON.parse(text).target, { upstream: 'up', model: 'film', credential: /^[0-9a-f]{12}$/ })
  t.notMatch(text, OLD)
  const data = join(gateway.folder, 'data')
  const text2 = yaml(upstream.origin, HEADER, BOTH).replace('./data', data)
  await startTestGateway(t, text2, { env })
  await upstream.requests.count(upstream.requests.items.length + 2)
  t.same([...new Set(since().map(usedBy))], [OLD])
})

proveNoLeak(t)
