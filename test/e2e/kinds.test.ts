import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { textFrame } from '../../src/wire/frames.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { formOf, sending } from '../helpers/forms.js'
import { CALLER, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type KindCall, THEIRS } from '../helpers/kind-call.js'
import { KIND_CALLS } from '../helpers/kind-calls.js'
import { open, startSocketUpstream } from '../helpers/realtime.js'
import {
  FILM,
  startTaskUpstream,
  type TaskAnswer,
  type TaskRequest,
  type TaskUpstream,
} from '../helpers/task-upstream.js'

// Each shipped kind through a gateway to an upstream that checks what it gets: where it is called, with which credential, and
// with which body.

relaysAnything() // the shapes here are the providers' own

const kinds = [...new Set(KIND_CALLS.map(({ kind }) => kind))]

/** Kinds that get tokens for their secret: here it is a token itself. */
const TOKENS: Readonly<Record<string, string>> = {
  watsonx: ', credential: { in: header, name: authorization, scheme: Bearer }',
}

/** An upstream for each kind below a path of its own, and a model of the kind's name on each. */
async function stage(t: Test): Promise<{ gateway: TestGateway; upstream: TaskUpstream }> {
  const upstream = await startTaskUpstream(t, usual)
  const upstreams = kinds.map(
    kind =>
      `  ${kind}: { kind: ${kind}, base: "${upstream.origin}/at-${kind}", secret: { env: UPSTREAM_KEY }${TOKENS[kind] ?? ''} }`,
  )
  const models = kinds.map(kind => `  ${kind}: { upstream: ${kind}, as: "${THEIRS}" }`)
  const yaml = ['version: 1', CALLER, 'upstreams:', ...upstreams, 'models:', ...models].join('\n')
  return { upstream, gateway: await startTestGateway(t, yaml) }
}

/** Answers in the shape of the operation that the path names. */
function usual({ target, body }: TaskRequest): TaskAnswer {
  if (/chat_stream/.test(target) || body.includes('"stream":true')) {
    const chunk = {
      id: 'c',
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: { content: 'Hi' }, finish_reason: 'stop' }],
    }
    const events = `data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`
    return { body: Buffer.from(events), headers: { 'content-type': 'text/event-stream' } }
  }
  if (/chat/.test(target))
    return { body: { id: 'c', choices: [{ index: 0, message: { content: 'Hi' }, finish_reason: 'stop' }] } }
  if (/completions/.test(target))
    return { body: { id: 'c', choices: [{ index: 0, text: 'Hi', finish_reason: 'stop' }] } }
  if (/responses/.test(target)) return { body: { id: 'r', object: 'response', status: 'completed', output: [] } }
  if (/moderations/.test(target)) return { body: { id: 'm', results: [{ flagged: false }] } }
  if (/transcri|transla|\/stt/.test(target)) return { body: { text: 'Hi' } }
  if (/messages/.test(target))
    return { body: { type: 'message', content: [{ type: 'text', text: 'Hi' }], stop_reason: 'end_turn' } }
  if (/embed/.test(target)) return { body: { data: [{ index: 0, embedding: [1] }], usage: { prompt_tokens: 1 } } }
  if (/rerank/.test(target)) return { body: { results: [{ index: 0, relevance_score: 1 }] } }
  if (/image/.test(target)) return { body: { data: [{ url: 'https://media.example/a.png' }] } }
  return { body: Buffer.from('sound'), headers: { 'content-type': 'audio/mpeg' } }
}

/** The usual answer to a request, as text. */
function usualText(request: TaskRequest | undefined): string {
  const answer = request === undefined ? 'hang' : usual(request)
  const body = typeof answer === 'string' ? answer : answer.body
  return Buffer.isBuffer(body) ? body.toString() : JSON.stringify(body)
}

async function check(t: Test, gateway: TestGateway, upstream: TaskUpstream, call: KindCall): Promise<void> {
  const [path, more] = call.asked
  const before = upstream.requests.items.length
  upstream.script = call.answer === undefined ? usual : () => ({ body: call.answer })
  const form = call.form === undefined ? undefined : formOf(['model', call.kind], ...call.form)
  const asked = form === undefined ? { body: { model: call.kind, ...more } } : sending(form)
  const answer = await gateway.request(path, asked)
  t.equal(answer.status, 200, answer.text)
  const [request, ...others] = upstream.requests.items.slice(before)
  t.equal(others.length, 0)
  const [method, target] = call.sent.split(' ')
  t.equal(`${request?.method} ${request?.target}`, `${method} /at-${call.kind}${target}`)
  if (call.like === undefined) t.same(request?.json(), call.body ?? { model: THEIRS, ...more })
  else t.match(request?.body, call.like)
  const [place, prefix] = call.credential ?? ['authorization', 'Bearer ']
  t.ok(String(request?.headers[place]).startsWith(`${prefix}canary-upstream`), place)
  t.notOk(JSON.stringify(request?.headers).includes(gateway.key), 'the key of the caller stays here')
  t.match(request?.headers, call.headers ?? {})
  if (call.got !== undefined) t.match(answer.json(), call.got)
  else if (call.bytes !== undefined) t.same([answer.header('content-type'), answer.text], call.bytes)
  else t.equal(answer.text, usualText(request))
}

t.test('requests reach each kind as its reference says', async t => {
  const { gateway, upstream } = await stage(t)
  for (const call of KIND_CALLS) {
    await t.test(`kind ${call.kind}: ${call.asked[0]} at ${call.sent}`, t => check(t, gateway, upstream, call))
  }
})

/** Where kinds have what names no model, and their credential. */
const HELD: readonly (readonly [kind: string, v1: string, place: string])[] = [
  ['openai', '/v1', 'authorization'],
  ['azure-openai', '/openai/v1', 'api-key'],
]

for (const [kind, v1, place] of HELD) {
  t.test(`kind ${kind}: files and batches below ${v1}`, async t => {
    const upstream = await startTaskUpstream(t, ({ target }) =>
      target.endsWith('/content') ? { body: FILM } : { body: { id: target.includes('/files') ? 'file-1' : 'batch-1' } },
    )
    const yaml = `version: 1
${CALLER}
upstreams: { up: { kind: ${kind}, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY } } }
models: { m: up }
`
    const gateway = await startTestGateway(t, yaml)
    const form = sending(formOf(['purpose', 'batch'], ['file', Buffer.from('{}'), 'application/jsonl']))
    const file = ((await gateway.request('/v1/files', form)).json() as { id: string }).id
    const body = { input_file_id: file, endpoint: '/v1/chat/completions', completion_window: '24h' }
    const batch = ((await gateway.request('/v1/batches', { body })).json() as { id: string }).id
    for (const call of [`GET batches/${batch}`, `POST batches/${batch}/cancel`, `GET files/${file}`]) {
      const [method = '', path = ''] = call.split(' ')
      t.equal((await gateway.request(`/v1/${path}`, { method })).status, 200, call)
    }
    t.same((await gateway.request(`/v1/files/${file}/content`)).body, FILM)
    t.equal((await gateway.request(`/v1/files/${file}`, { method: 'DELETE' })).status, 200)
    t.same(
      upstream.requests.items.map(({ method, target }) => `${method} ${target}`),
      [
        `POST ${v1}/files`,
        `POST ${v1}/batches`,
        `GET ${v1}/batches/batch-1`,
        `POST ${v1}/batches/batch-1/cancel`,
        `GET ${v1}/files/file-1`,
        `GET ${v1}/files/file-1/content`,
        `DELETE ${v1}/files/file-1`,
      ],
    )
    for (const { headers } of upstream.requests.items) t.match(headers[place], /canary-upstream/)
    t.match(upstream.requests.items[0]?.body, /name="purpose"[\s\S]*filename=/)
    t.match(upstream.requests.items[1]?.json(), { input_file_id: 'file-1' })
  })
}

for (const [kind, v1, place] of HELD) {
  t.test(`kind ${kind}: a WebSocket below ${v1}`, async t => {
    const up = await startSocketUpstream(t)
    const upstream = `{ kind: ${kind}, base: "${up.origin}", secret: { env: UPSTREAM_KEY } }`
    const models = `models: { m: { upstream: up, as: "${THEIRS}" } }`
    const gateway = await startTestGateway(t, `version: 1\n${CALLER}\nupstreams: { up: ${upstream} }\n${models}\n`)
    const { server, client } = await open(t, { gateway, up })
    const [handshake] = up.requests.items
    t.equal(handshake?.url, `${v1}/realtime?model=${encodeURIComponent(THEIRS)}`)
    t.match(handshake?.headers[place], /canary-upstream/)
    server.send(textFrame('{"type":"session.created"}', false))
    t.same(await client.texts.count(1), ['{"type":"session.created"}'])
  })
}

/** Kinds of tasks: what the submit has to look like, and answers until there is a film. */
const FILMS: readonly FilmCall[] = [
  {
    kind: 'dashscope',
    calls: ['POST /api/v1/services/aigc/video-generation/video-synthesis', 'GET /api/v1/tasks/t-1'],
    body: { model: THEIRS, input: { prompt: 'A cat' }, parameters: { duration: 5, size: '1280*720' } },
    answers: film => [
      { output: { task_id: 't-1', task_status: 'PENDING' } },
      { output: { task_status: 'SUCCEEDED', video_url: film } },
    ],
  },
  {
    kind: 'volcengine',
    calls: ['POST /api/v3/contents/generations/tasks', 'GET /api/v3/contents/generations/tasks/t-1'],
    body: { model: THEIRS, content: [{ type: 'text', text: 'A cat' }], duration: 5, ratio: '16:9' },
    answers: film => [{ id: 't-1' }, { status: 'succeeded', content: { video_url: film } }],
  },
  {
    kind: 'siliconflow',
    calls: ['POST /v1/video/submit', 'POST /v1/video/status'],
    body: { model: THEIRS, prompt: 'A cat', image_size: '1280x720' },
    answers: film => [{ requestId: 't-1' }, { status: 'Succeed', results: { videos: [{ url: film }] } }],
  },
  {
    kind: 'zhipu',
    calls: ['POST /api/paas/v4/videos/generations', 'GET /api/paas/v4/async-result/t-1'],
    body: { model: THEIRS, prompt: 'A cat', duration: 5, size: '1280x720' },
    answers: film => [
      { id: 't-1', task_status: 'PROCESSING' },
      { task_status: 'SUCCESS', video_result: [{ url: film }] },
    ],
  },
  {
    kind: 'luma',
    calls: ['POST /dream-machine/v1/generations', 'GET /dream-machine/v1/generations/t-1'],
    body: { model: THEIRS, prompt: 'A cat', duration: '5s', aspect_ratio: '16:9' },
    answers: film => [
      { id: 't-1', state: 'queued' },
      { state: 'completed', assets: { video: film } },
    ],
  },
  {
    kind: 'kling',
    calls: ['POST /v1/videos/text2video', 'GET /v1/videos/text2video/t-1'],
    body: { model_name: THEIRS, prompt: 'A cat', duration: '5', aspect_ratio: '16:9' },
    answers: film => [
      { code: 0, data: { task_id: 't-1', task_status: 'submitted' } },
      { code: 0, data: { task_status: 'succeed', task_result: { videos: [{ url: film }] } } },
    ],
  },
  {
    kind: 'replicate',
    calls: ['POST /v1/models/vendor/model-1/predictions', 'GET /v1/predictions/t-1'],
    body: { input: { prompt: 'A cat', duration: 5, aspect_ratio: '16:9' } },
    answers: film => [
      { id: 't-1', status: 'starting' },
      { status: 'succeeded', output: film },
    ],
  },
  {
    kind: 'veo',
    calls: ['POST /v1beta/models/vendor%2Fmodel-1:predictLongRunning', 'GET /v1beta/operations/t-1'],
    body: { instances: [{ prompt: 'A cat' }], parameters: { durationSeconds: 5, aspectRatio: '16:9' } },
    credential: ['x-goog-api-key', ''],
    answers: film => [
      { name: 'operations/t-1' },
      { done: true, response: { generateVideoResponse: { generatedSamples: [{ video: { uri: film } }] } } },
    ],
  },
]

interface FilmCall {
  readonly kind: string
  readonly calls: readonly [submit: string, poll: string]
  readonly body: Readonly<Record<string, unknown>>
  readonly credential?: readonly [place: string, before: string]
  answers(film: string): readonly [submit: unknown, poll: unknown]
}

async function makeFilm(t: Test, { kind, calls, body, credential, answers }: FilmCall): Promise<void> {
  const upstream = await startTaskUpstream(t, ({ method, target }) => {
    if (target === '/film.mp4') return { body: FILM, headers: { 'content-type': 'video/mp4' } }
    const [submit, poll] = answers(`${upstream.origin}/film.mp4`)
    if (`${method} ${target}` === calls[0]) return { body: submit }
    return `${method} ${target}` === calls[1] ? { body: poll } : { status: 404 }
  })
  const yaml = `version: 1
store: { type: memory }
${CALLER}
media: { fetch: { allow: [127.0.0.1], http: true, ports: [${new URL(upstream.origin).port}] } }
upstreams:
  up: { kind: ${kind}, base: "${upstream.origin}", secret: { env: UPSTREAM_KEY }, tasks: { poll: { every: 20ms } } }
models: { film: { upstream: up, as: "${THEIRS}" } }
`
  const gateway = await startTestGateway(t, yaml)
  const asked = { model: 'film', prompt: 'A cat', duration: 5, size: '1280x720' }
  const begun = await gateway.request('/v1/videos', { body: asked })
  t.equal(begun.status, 200, begun.text)
  const { id } = begun.json() as { id: string }
  const ended = await gateway.log.find(line => line.msg === 'task changed' && line.task === id && line.to !== 'running')
  t.equal(ended.to, 'succeeded', JSON.stringify((await gateway.request(`/v1/videos/${id}`)).json()))
  const [submit] = upstream.requests.items
  t.same(submit?.json(), body)
  const [place, before] = credential ?? ['authorization', 'Bearer ']
  t.ok(String(submit?.headers[place]).startsWith(`${before}canary-upstream`), place)
  t.same((await gateway.request(`/v1/videos/${id}/content`)).body, FILM)
}

for (const film of FILMS) {
  t.test(`kind ${film.kind}: a video, from ${film.calls[0]} to its bytes`, t => makeFilm(t, film))
}

/** Test files that follow the calls of other kinds, and which. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  'test/e2e/clouds.test.ts':
    'bedrock bedrock-compatible bedrock-key bedrock-mantle bedrock-messages bedrock-rerank foundry vertex vertex-messages',
  'test/e2e/image-tasks.test.ts': 'simulator-imagine',
  'test/e2e/kinds-own-routes.test.ts': 'assemblyai black-forest-labs dify ollama-native suno-api',
  'test/e2e/kinds-with-tokens.test.ts': 'azure-openai-entra foundry-entra kling-signed',
  'test/e2e/llama-server.test.ts': 'llama-cpp',
  'test/e2e/message-batches.test.ts': 'anthropic simulator simulator-chat',
  'test/e2e/operations.test.ts': 'gemini-native',
  'test/e2e/model-lists.test.ts': 'native-generate',
  'test/e2e/rerank.test.ts': 'cohere jina together vllm voyage',
  'test/e2e/thoughts-once.test.ts': 'simulator-converse simulator-generate simulator-messages simulator-responses',
  'test/e2e/video-vendors.test.ts': 'new-api runway xai',
  'test/faults/image-tasks.test.ts': 'midjourney-proxy',
  'test/features/record/sessions.test.ts': 'recorded',
  'test/routes/messages.test.ts': 'messages',
  'test/routes/models.test.ts': 'bearer',
}

t.test('each kind that comes with the gateway has a test', async t => {
  const shipped = readdirSync(join(packageRoot(), 'routes', 'kinds')).map(file => file.replace(/\.yaml$/, ''))
  const tested = new Set([...kinds, ...FILMS.map(({ kind }) => kind)])
  for (const [file, list] of Object.entries(ELSEWHERE)) {
    const text = readFileSync(join(packageRoot(), file), 'utf8')
    for (const kind of list.split(' ')) {
      t.ok(new RegExp(`kind:? '?${kind}[ ,:}']|\\['${kind}'`).test(text), `${file} names ${kind}`)
      t.notOk(tested.has(kind), `${kind} has one place`)
      tested.add(kind)
    }
  }
  t.same([...tested].sort(), shipped.sort())
  t.ok(shipped.filter(kind => !kind.startsWith('simulator') && kind !== 'bearer').length >= 60)
})

proveNoLeak(t)
