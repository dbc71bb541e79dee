import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { FILM, startTaskUpstream, type TaskScript, type TaskUpstream } from '../helpers/task-upstream.js'

// Kinds whose routes a file has to include, as docs/providers.md says.

async function stage(t: Test, script: TaskScript): Promise<{ gateway: TestGateway; upstream: TaskUpstream }> {
  const upstream = await startTaskUpstream(t, script)
  const page = readFileSync(join(packageRoot(), 'docs', 'providers.md'), 'utf8')
  const example = [...page.matchAll(/```yaml\n([\s\S]*?)```/g)]
    .map(([, yaml = '']) => yaml)
    .find(yaml => yaml.includes('shipped:songs'))
  if (example === undefined) throw new Error('the example is no longer there')
  const own = example
    .replace(/kind: (dify|ollama-native|assemblyai|black-forest-labs)/g, `kind: $1, base: "${upstream.origin}"`)
    .replace('https://songs.example.com', upstream.origin)
    .replace(/secret: \{ env: \w+ \}/g, 'secret: { env: UPSTREAM_KEY }, tasks: { poll: { every: 20ms } }')
  const media = `media: { fetch: { allow: [127.0.0.1], http: true, ports: [${new URL(upstream.origin).port}] } }`
  return {
    upstream,
    gateway: await startTestGateway(t, `version: 1\nstore: { type: memory }\n${CALLER}\n${media}\n${own}`),
  }
}

t.test('kind dify: a header or nothing names the app, and a word asks for a stream', async t => {
  const events = Buffer.from(
    'data: {"event":"message","answer":"Hi"}\n\ndata: {"event":"message_end","metadata":{"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}}\n\n',
  )
  const { gateway, upstream } = await stage(t, ({ json }) =>
    json().response_mode === 'streaming'
      ? { body: events, headers: { 'content-type': 'text/event-stream' } }
      : { body: { answer: 'Hi' } },
  )
  const body = { query: 'Hi', inputs: {}, user: 'u', response_mode: 'streaming' }
  const streamed = await gateway.request('/v1/chat-messages', { body })
  t.equal(streamed.header('content-type'), 'text/event-stream')
  t.ok(streamed.text.includes('"answer":"Hi"'), streamed.text)
  const whole = await gateway.request('/v1/chat-messages', {
    body: { ...body, response_mode: 'blocking' },
    headers: { 'x-app': 'app' },
  })
  t.same(whole.json(), { answer: 'Hi' })
  const line = await gateway.log.find(one => one.id === streamed.header('x-request-id') && one.msg === 'request')
  t.match(line, { input_tokens: 3, output_tokens: 2 })
  const [request] = upstream.requests.items
  t.equal(request?.target, '/v1/chat-messages')
  t.same(request?.json(), body)
  t.match(request?.headers.authorization, /^Bearer canary-upstream/)
  compatibleError(t, await gateway.request('/v1/chat-messages', { body, headers: { 'x-app': 'other' } }), 404)
  compatibleError(t, await gateway.request('/v1/chat-messages', { body: { ...body, response_mode: 'slow' } }), 400)
  const unnamed = compatibleError(t, await gateway.request('/v1/chat-messages', { body: { query: 'Hi' } }), 400)
  t.equal(unnamed.param, 'user', 'the schema in the route is checked')
})

const LINES = '{"done":false}\n{"done":true,"done_reason":"stop","prompt_eval_count":3,"eval_count":2}\n'

t.test('kind ollama-native: lines are streamed unless the request says otherwise', async t => {
  const { gateway, upstream } = await stage(t, ({ json }) =>
    json().stream === false
      ? { body: { message: { content: 'Hi' }, done: true, prompt_eval_count: 3, eval_count: 2 } }
      : { body: Buffer.from(LINES), headers: { 'content-type': 'application/x-ndjson' } },
  )
  const messages = [{ role: 'user', content: 'Hi' }]
  const lines = await gateway.request('/api/chat', { body: { model: 'box/llama', messages } })
  t.equal(lines.text, LINES)
  const whole = await gateway.request('/api/chat', { body: { model: 'box/llama', messages, stream: false } })
  t.match(whole.json(), { done: true })
  const line = await gateway.log.find(one => one.id === whole.header('x-request-id') && one.msg === 'request')
  t.match(line, { input_tokens: 3, output_tokens: 2 })
  t.same(upstream.requests.items[0]?.json(), { model: 'llama', messages })
})

interface Made {
  readonly kind: string
  readonly path: string
  readonly asked: Readonly<Record<string, unknown>>
  readonly calls: readonly [submit: string, poll: string]
  readonly sent: Readonly<Record<string, unknown>>
  readonly header: readonly [name: string, before: string]
  readonly media?: string
  answers(file: string): readonly [submit: unknown, poll: unknown]
}

const MADE: readonly Made[] = [
  {
    kind: 'assemblyai',
    path: '/v1/transcripts',
    asked: { model: 'best', url: 'https://media.example/a.mp3' },
    calls: ['POST /v2/transcript', 'GET /v2/transcript/t-1'],
    sent: { speech_model: 'best', audio_url: 'https://media.example/a.mp3' },
    header: ['authorization', ''],
    answers: () => [
      { id: 't-1', status: 'queued' },
      { id: 't-1', status: 'completed', text: 'Hi' },
    ],
  },
  {
    kind: 'black-forest-labs',
    path: '/v1/pictures',
    asked: { model: 'flux-pro-1.1', prompt: 'A cat', size: '1024x768' },
    calls: ['POST /v1/flux-pro-1.1', 'GET /v1/get_result?id=t-1'],
    sent: { prompt: 'A cat', width: 1024, height: 768 },
    header: ['x-key', ''],
    media: 'image/png',
    answers: file => [
      { id: 't-1', polling_url: 'x' },
      { id: 't-1', status: 'Ready', result: { sample: file } },
    ],
  },
  {
    kind: 'suno-api',
    path: '/v1/songs',
    asked: { model: 'V4', prompt: 'A song' },
    calls: ['POST /api/v1/generate', 'GET /api/v1/generate/record-info?taskId=t-1'],
    sent: { model: 'V4', prompt: 'A song', customMode: false, instrumental: false },
    header: ['authorization', 'Bearer '],
    media: 'audio/mpeg',
    answers: file => [
      { code: 200, data: { taskId: 't-1' } },
      { code: 200, data: { status: 'SUCCESS', response: { sunoData: [{ audioUrl: file }] } } },
    ],
  },
]

for (const { kind, path, asked, calls, sent, header, media, answers } of MADE) {
  t.test(`kind ${kind}: a task from ${calls[0]} to its result`, async t => {
    const { gateway, upstream } = await stage(t, ({ method, target }, { origin }) => {
      const [submit, poll] = answers(`${origin}/file`)
      if (target === '/file') return { body: FILM, headers: { 'content-type': media ?? '' } }
      if (`${method} ${target}` === calls[0]) return { body: submit }
      return `${method} ${target}` === calls[1] ? { body: poll } : { status: 404 }
    })
    const begun = await gateway.request(path, { body: asked })
    t.equal(begun.status, 200, begun.text)
    const { id } = begun.json() as { id: string }
    const ended = await gateway.log.find(
      line => line.msg === 'task changed' && line.task === id && line.to !== 'running',
    )
    t.equal(ended.to, 'succeeded')
    const [submit] = upstream.submits
    t.same(submit?.json(), sent)
    t.ok(String(submit?.headers[header[0]]).startsWith(`${header[1]}canary-upstream`))
    const record = await gateway.request(`${path}/${id}`)
    if (media === undefined) t.match(record.json(), { status: 'completed', text: 'Hi' })
    else t.same((await gateway.request(`${path}/${id}/content`)).body, FILM)
  })
}

t.test('an overlay lets all native routes take a key in the query, and those of other interfaces not', async t => {
  const upstream = await startTaskUpstream(t, () => ({ body: { candidates: [] } }))
  const gateway = await startTestGateway(
    t,
    `version: 1
${CALLER}
upstreams: { up: { kind: native-generate, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY } } }
models: { m: up }
overlays:
  native: { caller: [{ in: header, name: x-goog-api-key }, { in: query, name: key }], limits: { body: 1KiB } }
`,
  )
  const ask = (path: string, more: object = {}): Promise<{ status: number }> =>
    gateway.request(`${path}?key=${gateway.key}`, {
      key: undefined,
      headers: {},
      body: { contents: [{ parts: [{ text: 'Hi' }] }], ...more },
    } as never)
  t.equal((await ask('/v1beta/models/m:generateContent')).status, 200)
  t.notOk(upstream.requests.items[0]?.target.includes('key='), 'the key stays here')
  t.equal((await ask('/v1beta/models/m:countTokens')).status, 200)
  t.equal((await ask('/v1beta/models/m:generateContent', { x: 'x'.repeat(2000) })).status, 413)
  t.equal((await ask('/v1/chat/completions', { model: 'm', messages: [] })).status, 401)
})

proveNoLeak(t)
