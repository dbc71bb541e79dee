import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { type Bin, start } from '../cli/bin.js'
import { hookListener } from '../helpers/hook-listener.js'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../helpers/otlp-receiver.js'
import { compatible, filmYaml, startTaskUpstream, type TaskRequest } from '../helpers/task-upstream.js'

/** What follows from a task's request is in its trace: polls, other calls, and the webhook, also of a later process. */

t.setTimeout(120_000)

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const KEY = 'the-key-of-the-caller-0123456789'
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

interface Stage {
  readonly collector: OtlpReceiver
  /** Starts the gateway, on the same file store each time. */
  serve(): Promise<{ readonly origin: string; readonly bin: Bin }>
}

async function stage(t: Test, upstream: string, more: string, sample = '{ rest: 1 }'): Promise<Stage> {
  const collector = await startOtlpReceiver(t)
  const folder = mkdtempSync(join(tmpdir(), 'gateway-spans-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const telemetry = `telemetry: { otlp: { endpoint: "${collector.origin}" }, metrics: off, traces: { sample: ${sample} } }\n`
  const yaml = filmYaml(upstream, undefined, `listen: { port: 0 }\n${telemetry}${more}`)
  const file = join(folder, 'gateway.yaml')
  writeFileSync(file, yaml.replace('type: memory', 'type: file'))
  const NODE_EXTRA_CA_CERTS = join(packageRoot(), 'test/fixtures/tls/first.pem')
  const env = { CALLER_KEY: KEY, OTHER_KEY: `${KEY}9`, UPSTREAM_KEY: 'u', HOOK_SECRET: SECRET, NODE_EXTRA_CA_CERTS }
  return {
    collector,
    serve: async () => {
      const bin = start(t, ['serve', file], { env })
      const [, origin = ''] = await bin.until(/"address":"([^"]+)"/)
      return { origin, bin }
    },
  }
}

async function ask(origin: string, path: string, init: RequestInit = {}, flags = '01'): Promise<string> {
  const traceparent = `00-${TRACE}-b7ad6b7169203331-${flags}`
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json', traceparent }
  const answer = await fetch(`${origin}${path}`, { ...init, headers })
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`${answer.status} ${text}`)
  return text
}

async function begin(origin: string, more: object = {}, flags?: string): Promise<string> {
  const body = JSON.stringify({ model: 'film', prompt: 'A cat', ...more })
  const text = await ask(origin, '/v1/videos', { method: 'POST', body }, flags)
  return (JSON.parse(text) as { id: string }).id
}

const named =
  (name: string) =>
  (span: ReceivedSpan): boolean =>
    span.name === name

/** The context that a request brought. */
function sent({ headers }: Pick<TaskRequest, 'headers'>): readonly string[] {
  return String(headers.traceparent).split('-')
}

t.test('polls and the webhook are spans of the request, also when another process makes them', async t => {
  let isDone = false
  const script = compatible({ status: 'running' })
  const upstream = await startTaskUpstream(t, (request, up) =>
    isDone && request.method === 'GET'
      ? { body: { id: 'vid_1', object: 'video', status: 'completed' } }
      : script(request, up),
  )
  const { url, port, notifications } = await hookListener(t, count => (count === 1 ? 500 : 204))
  const hooks = `webhooks: { secret: { env: HOOK_SECRET }, allow: [localhost, 127.0.0.1], ports: [${port}] }\n`
  const { collector, serve } = await stage(t, upstream.origin, hooks)
  const first = await serve()
  const task = await begin(first.origin, { webhook_url: url })
  const server = await collector.spans.find(named('POST /v1/videos'))
  const poll = await collector.spans.find(named('task retrieve'))
  t.match(poll, {
    trace: TRACE,
    parent: server.id,
    kind: 'SPAN_KIND_CLIENT',
    isError: false,
    attributes: {
      'http.request.method': 'GET',
      'http.response.status_code': 200,
      'server.address': '127.0.0.1',
      'server.port': upstream.port,
      'gateway.upstream': 'up',
      'gateway.task': task,
    },
  })
  const asked = upstream.requests.items.find(request => sent(request)[2] === poll.id)
  t.match(asked, { method: 'GET', target: '/v1/videos/vid_1' }, 'the upstream got the id of that span')
  first.bin.child.kill('SIGKILL')
  await first.bin.ended
  isDone = true
  const second = await serve()
  await notifications.count(2)
  const [failed, taken] = await collector.spans.count(2, named('webhook'))
  t.match(failed, { trace: TRACE, parent: server.id, isError: true, attributes: { 'http.response.status_code': 500 } })
  t.match(taken, {
    trace: TRACE,
    parent: server.id,
    isError: false,
    attributes: { 'http.response.status_code': 204, 'server.address': 'localhost', 'server.port': port },
  })
  t.same(
    notifications.items.map(({ headers }) => headers.traceparent),
    [failed, taken].map(span => `00-${TRACE}-${span?.id}-01`),
  )
  const later = collector
    .named('task retrieve')
    .filter(({ resource }) => resource['process.pid'] === second.bin.child.pid)
  t.ok(later.length > 0, 'the second process polled')
  for (const span of later) t.match(span, { trace: TRACE, parent: server.id })
})

t.test('cancelling, deleting and fetching content are spans too', async t => {
  const upstream = await startTaskUpstream(t, compatible({ status: 'completed' }))
  const { collector, serve } = await stage(t, upstream.origin, '')
  const { origin } = await serve()
  const task = await begin(origin)
  await collector.spans.find(named('task content'))
  await ask(origin, `/v1/videos/${task}`, { method: 'DELETE' })
  const { id } = await collector.spans.find(named('POST /v1/videos'))
  t.match(await collector.spans.find(named('task delete')), { trace: TRACE, parent: id })
})

t.test(
  'of a request that is not sampled only calls that fail are sent, and its upstream hears that it is not',
  async t => {
    let polls = 0
    const upstream = await startTaskUpstream(t, ({ method }) => {
      if (method === 'POST') return { body: { id: 'vid_1', object: 'video', status: 'queued' } }
      polls++
      return polls === 2
        ? { status: 503 }
        : { body: { id: 'vid_1', object: 'video', status: polls > 2 ? 'failed' : 'running' } }
    })
    const { collector, serve } = await stage(t, upstream.origin, '', '{ errors: 1, slow: 0, rest: 0 }')
    const { origin } = await serve()
    await begin(origin, {}, '00')
    t.match(await collector.spans.find(named('task retrieve')), {
      trace: TRACE,
      isError: true,
      attributes: { 'http.response.status_code': 503, 'error.type': '503' },
    })
    const requests = await upstream.requests.count(4)
    for (const request of requests.slice(1)) t.equal(sent(request)[3], '00')
    t.same(
      collector.spans.items.map(({ name }) => name),
      ['task retrieve'],
    )
  },
)
