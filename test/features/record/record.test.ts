import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import type { RecordedExchange } from '../../../src/core/recording.js'
import { Recorder } from '../../../src/features/record/recorder.js'
import { RecordingsSink } from '../../../src/sinks/recordings/recordings-sink.js'
import { CALLER, startTestGateway, type TestGateway } from '../../helpers/gateway.js'
import { tryPlan } from '../../helpers/plans.js'

type Test = Pick<typeof t, 'teardown'>

const SECRET = 'upstream-secret-of-this-test'

/** A gateway that records what it asks simulators of two protocols. */
async function recording(t: Test, record: string): Promise<TestGateway> {
  const text = `version: 1
${CALLER}
upstreams:
  near: { kind: simulator, headers: { x-own: '${SECRET}' }, credential: { in: header, name: x-sim, secret: { env: SIM } }, secret: { env: SIM } }
  other: { kind: simulator-messages }
models: { "sim-text*": near, "sim-video*": near, words: { upstream: other, as: sim-messages } }
record: ${record}
`.replace(', secret: { env: SIM } }, secret:', ' }, secret:')
  return await startTestGateway(t, text, { env: { SIM: SECRET } })
}

function playing(t: Test, from: string, more = ''): Promise<TestGateway> {
  const recordings = `recordings: { from: "${from}"${more} }`
  return startTestGateway(
    t,
    `version: 1
${CALLER}
upstreams:
  near: { kind: simulator, ${recordings}, credential: { in: header, name: x-sim }, secret: { env: NONE } }
  other: { kind: simulator-messages, ${recordings} }
models: { "sim-text*": near, "sim-video*": near, words: { upstream: other, as: sim-messages } }
`,
  )
}

/** The recordings once the gateway has written what waited. */
async function recorded(gateway: TestGateway, folder: string): Promise<readonly RecordedExchange[]> {
  await gateway.gateway.close()
  const into = join(gateway.folder, folder)
  const files = readdirSync(into).sort()
  return files.map(file => JSON.parse(readFileSync(join(into, file), 'utf8')) as RecordedExchange)
}

const say = (content: string, more = {}) => ({ model: 'sim-text', messages: [{ role: 'user', content }], ...more })

t.test('exchanges are recorded without secrets, and played: whole, as streams, relayed and translated', async t => {
  const live = await recording(t, '{ into: tapes, members: [user] }')
  const asked = [
    say('hello', { user: 'anna' }),
    say('hello from ann@example.com', { stream: true }),
    say('translate me', { model: 'words', max_tokens: 90 }),
    say('translate me', { model: 'words', max_tokens: 90, stream: true }),
    { ...say('not there'), model: 'sim-text?status=429&retry-after=0' },
  ]
  const answers = []
  for (const body of asked) answers.push(await live.chat(body))
  const exchanges = await recorded(live, 'tapes')
  const statuses = exchanges.map(({ response }) => response.status)
  t.same(statuses.slice(0, 5), [200, 200, 200, 200, 429], 'each attempt is an exchange')
  const text = JSON.stringify(exchanges)
  t.notMatch(text, SECRET)
  t.notMatch(text, /anna|ann@example|x-sim|authorization/)
  t.match(exchanges[0]?.request, { method: 'POST', body: { model: 'sim-text', user: '[masked]' } })
  t.match(exchanges[1]?.request.body, { messages: [{ content: 'hello from [email]' }] })
  t.match(exchanges[1]?.response.chunks?.at(-1), { text: 'data: [DONE]\n\n' })
  t.match(exchanges[2]?.request.url, /\/v1\/messages$/)

  const offline = await playing(t, join(live.folder, 'tapes'))
  for (const [at, body] of asked.slice(0, 4).entries()) {
    const again = await offline.chat(body)
    t.equal(again.status, 200)
    t.same(streamed(again.text), streamed(answers[at]?.text ?? ''), `answer ${at}`)
  }
})

/** The events without the pieces of the text, and that: masked, it may have other borders. */
function streamed(text: string): { readonly events: string; readonly said: string } {
  const piece = /(?<="content":")(?:[^"\\]|\\.)*/g
  const said = (text.match(piece) ?? []).join('').replaceAll('ann@example.com', '[email]')
  return { events: text.replaceAll(piece, '').replaceAll(/"created":\d+/g, ''), said }
}

/** Makes a film; what clients see of it at its end, and its content. */
async function film(gateway: TestGateway): Promise<{ readonly status: string; readonly bytes: Buffer }> {
  const headers = { authorization: `Bearer ${gateway.key}`, 'content-type': 'application/json' }
  const ask = (path: string, init = {}): Promise<Response> => fetch(`${gateway.origin}${path}`, { headers, ...init })
  const body = JSON.stringify({ model: 'sim-video?polls=1', prompt: 'a lake' })
  let { id, status } = (await (await ask('/v1/videos', { method: 'POST', body })).json()) as Record<string, string>
  while (status === 'queued' || status === 'in_progress')
    ({ id, status } = (await (await ask(`/v1/videos/${id}`)).json()) as Record<string, string>)
  const content = await ask(`/v1/videos/${id}/content`)
  return { status: status ?? '', bytes: Buffer.from(await content.arrayBuffer()) }
}

t.test('tasks are recorded with their polls and content, and played', async t => {
  const live = await recording(t, '{ into: tapes, routes: [videos] }')
  const made = await film(live)
  t.equal(made.status, 'completed')
  t.ok(made.bytes.length > 0)
  const exchanges = await recorded(live, 'tapes')
  const asked = exchanges.map(
    ({ request: { method, url } }) => `${method} ${new URL(url).pathname.replace(/video_\w+/, 'ID')}`,
  )
  t.equal(asked[0], 'POST /v1/videos')
  t.ok(asked.includes('GET /v1/videos/ID'), 'polls')
  t.equal(asked.at(-1), 'GET /v1/videos/ID/content')
  t.notMatch(JSON.stringify(exchanges), SECRET)
  const again = await film(await playing(t, join(live.folder, 'tapes')))
  t.same(again, made)
})

t.test('a request that no recording fits is refused: the nearest one and what differs are named', async t => {
  const live = await recording(t, '{ into: tapes }')
  await live.chat(say('one'))
  await live.chat(say('two', { max_tokens: 9 }))
  await recorded(live, 'tapes')
  const tapes = join(live.folder, 'tapes')
  const strict = await playing(t, tapes)
  const miss = await strict.chat(say('two', { max_tokens: 8 }))
  t.equal(miss.status, 400)
  t.match(
    miss.text,
    /The nearest is [\w.-]+\.json, with other max_completion_tokens: recorded 9, asked 8|max_tokens: recorded 9, asked 8/,
  )
  const path = await strict.request('/v1/embeddings', {
    method: 'POST',
    body: JSON.stringify({ model: 'sim-text', input: 'x' }),
  })
  t.match(path.text, 'No recording is of POST /v1/embeddings. There are: POST /v1/chat/completions')
  const loose = await playing(t, tapes, ', match: [model, messages]')
  t.equal((await loose.chat(say('two', { max_tokens: 8 }))).status, 200)
  t.equal((await loose.chat(say('three'))).status, 400)
})

t.test('what was asked twice is played in turn, then the last again', async t => {
  const live = await recording(t, '{ into: tapes }')
  const flaky = { ...say('again'), model: 'sim-text?status=503&times=1' }
  const statuses = []
  for (let n = 0; n < 3; n++) statuses.push((await live.chat(flaky)).status)
  const exchanges = await recorded(live, 'tapes')
  const offline = await playing(t, join(live.folder, 'tapes'))
  await offline.chat(flaky)
  t.equal(exchanges[0]?.response.status, 503)
  t.equal((await offline.chat(flaky)).status, 200)
  t.equal((await offline.chat(flaky)).status, 200)
})

t.test('only chosen models, keys and routes are recorded', async t => {
  const live = await recording(t, '{ into: tapes, models: ["w*"], routes: [chat] }')
  await live.chat(say('no'))
  await live.chat(say('yes', { model: 'words', max_tokens: 90 }))
  const exchanges = await recorded(live, 'tapes')
  t.equal(exchanges.length, 1)
  t.match(JSON.stringify(exchanges), 'yes')
})

t.test('an unknown route under record is a warning at its place', async t => {
  const config = `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator } }\nmodels: { "sim-*": sim }\nrecord: { into: tapes, routes: [chat, realtme] }\n`
  const { problems } = await tryPlan(t, config)
  const found = problems.filter(({ path }) => path.startsWith('record'))
  t.match(found, [
    {
      severity: 'warning',
      rule: 'unknown-route',
      suggestion: 'realtime',
      message: 'no route has the protocol "realtme", so nothing of it is recorded',
      position: { line: 5 },
    },
  ])
  t.equal(found.length, 1)
})

/** The same request, answered with that text. */
function tape(content: string): string {
  const type = [{ name: 'Content-Type', value: 'application/json' }]
  const url = 'https://api.example.com/v1/chat/completions'
  const request = { method: 'POST', url, headers: type, postData: { text: JSON.stringify(say('hello')) } }
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
  const text = JSON.stringify({ id: 'c', object: 'chat.completion', created: 1, model: 'm', choices })
  return JSON.stringify({
    log: { entries: [{ request, response: { status: 200, headers: type, content: { text } } }] },
  })
}

t.test('a configuration that is refused leaves the recordings of the one that serves', async t => {
  const yaml = (near: string, other: string): string => `version: 1
${CALLER}
upstreams:
  near: { kind: recorded, recordings: { from: ${near} } }
  other: { kind: recorded, recordings: { from: ${other} } }
models: { sim-text: near, unused: other }
`
  const files = { 'one/tape.har': tape('one'), 'two/tape.har': tape('two'), 'empty/tape.txt': '' }
  const gateway = await startTestGateway(t, yaml('one', 'one'), { files })
  t.match((await gateway.chat(say('hello'))).text, '"one"')
  await gateway.write('gateway.yaml', yaml('two', 'empty'))
  await t.rejects(gateway.gateway.reload(), { message: /no exchange was found/ })
  t.equal(gateway.gateway.health.generation, 1)
  t.match((await gateway.chat(say('hello'))).text, '"one"')
  await gateway.write('gateway.yaml', yaml('two', 'one'))
  await gateway.gateway.reload()
  t.match((await gateway.chat(say('hello'))).text, '"two"')
})

t.test('answers that are under way hold room, and what breaks off or has none gives it back', async t => {
  const notices: object[] = []
  const sink = new RecordingsSink(fields => notices.push(fields))
  const config = { into: t.testdir(), mask: [], words: [], members: [] }
  const upstream = { origin: 'http://up', secrets: [] }
  const about = { config, upstream, presented: [], route: 'chat', model: 'm' }
  const begin = (): Recorder => {
    const request = { method: 'POST', path: '/v1/chat/completions', headers: [], body: Buffer.alloc(100) }
    const recorder = new Recorder(about, request, sink)
    recorder.onHead(200, {})
    recorder.onData(Buffer.from('"piece"'))
    return recorder
  }
  t.ok(sink.reserve(256 * 1024 * 1024 - 120))
  const [broken, whole, late] = [begin(), begin(), begin()]
  t.notOk(sink.reserve(120 - 21 + 1), 'they hold some')
  late.onEnd()
  broken.onError()
  whole.onEnd()
  whole.onError()
  await sink.close()
  t.match(notices, [{ reason: 'too many wait to be written' }])
  t.equal(readdirSync(config.into).length, 1)
  t.ok(sink.reserve(120), 'all of it is free again')
  t.notOk(sink.reserve(1))
})
