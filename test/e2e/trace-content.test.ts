import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { run } from '../cli/bin.js'
import { ADMIN_SECRET, adminLine } from '../helpers/admin.js'
import { CHAT_ANSWER, chatEvent, DONE, json, stream } from '../helpers/answers.js'
import { canary } from '../helpers/canaries.js'
import { startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { type OtlpReceiver, type ReceivedSpan, startOtlpReceiver } from '../helpers/otlp-receiver.js'
import { request } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** What requests say is in no metric, span, line or receipt, but in the spans of keys that ask for it; secrets are nowhere. */

const PROMPT = 'canary-prompt-that-no-one-says'
const ENV = {
  KEY_PLAIN: canary('caller'),
  KEY_MASKED: canary('caller'),
  KEY_FULL: canary('caller'),
  KEY_OFF: canary('caller'),
  KEY_KEPT: canary('caller'),
  OTLP_TOKEN: canary('upstream'),
  RECEIPTS_KEY: canary('upstream'),
  UPSTREAM_KEY: canary('upstream'),
  GATEWAY_ADMIN_KEY: ADMIN_SECRET,
}
const SIZE = 512

interface Stage {
  readonly gateway: TestGateway
  readonly collector: OtlpReceiver
  readonly up: RawUpstream
  readonly admin: string
}

/** Everything that observes is on, and says as much as it can; `log.level: trace` would show headers. */
async function stage(t: Test): Promise<Stage> {
  const collector = await startOtlpReceiver(t)
  const up = await startRawUpstream(t)
  const { line, origin: admin } = await adminLine(', metrics: { per_key: true }')
  const yaml = `version: 1
${line}
log: { level: debug }
keys:
  plain: { secret: { env: KEY_PLAIN }, models: ["*"] }
  off: { secret: { env: KEY_OFF }, models: ["*"], trace: { content: off } }
  masked: { secret: { env: KEY_MASKED }, models: ["*"], trace: { content: masked, words: ["Project Heron"] } }
  kept: { secret: { env: KEY_KEPT }, models: ["*"], trace: { content: masked, words: [Heron] }, capture: { mask: [emails], words: [Heron] } }
  full: { secret: { env: KEY_FULL }, models: ["*"], trace: { content: full, size: ${SIZE} } }
upstreams: { up: ${upstreamYaml(up.origin)}, sim: { kind: simulator } }
models: { m: up, "sim-*": sim }
prices: { "*": { request: 0.01 } }
receipts: { to: receipts, key: { env: RECEIPTS_KEY } }
telemetry:
  otlp: { endpoint: "${collector.origin}", headers: { authorization: { env: OTLP_TOKEN } }, interval: 1s }
  logs: on
  traces: { sample: { rest: 1 } }
`
  return { gateway: await startTestGateway(t, yaml, { env: ENV }), collector, up, admin }
}

const bodyOf = (text: string, more: object = {}): object => ({
  model: 'm',
  messages: [{ role: 'user', content: text }],
  ...more,
})

/** Asks in every place where a client may write something. */
async function sayEverywhere({ gateway, up }: Stage, key: string): Promise<void> {
  const headers = { 'x-session': PROMPT, 'user-agent': PROMPT, baggage: `who=${PROMPT}`, cookie: PROMPT }
  const ask = (path: string, body: unknown): Promise<unknown> => gateway.request(path, { key, headers, body })
  const spread = { user: PROMPT, metadata: { [PROMPT]: PROMPT }, temperature: PROMPT }
  const answer = { ...CHAT_ANSWER, choices: [{ index: 0, message: { role: 'assistant', content: PROMPT } }] }
  up.answer(json(answer), stream([chatEvent(PROMPT), DONE]))
  await ask('/v1/chat/completions', bodyOf(PROMPT, { user: PROMPT, metadata: { of: PROMPT } }))
  await ask('/v1/chat/completions', bodyOf(PROMPT, { stream: true }))
  await ask('/v1/chat/completions', bodyOf(PROMPT, { ...spread }))
  await ask('/v1/chat/completions', { ...bodyOf(PROMPT), messages: PROMPT })
  await ask('/v1/chat/completions', `{"model":"m","messages":[${PROMPT}]}`)
  await ask('/v1/messages', { ...bodyOf(PROMPT, { model: 'sim-text' }), max_tokens: 20 })
  await ask('/v1/videos', { model: 'sim-video?polls=0', prompt: PROMPT })
  await ask('/v1/images/generations', { model: 'sim-image', prompt: PROMPT })
  await ask('/v1/embeddings', { model: 'sim-embedding', input: PROMPT })
  await gateway.request(`/v1/files?purpose=${PROMPT}`, { key, method: 'GET', headers })
}

/** An upstream that quotes its own credential: causes are logged without it. */
async function quoteSecrets({ gateway, up }: Stage, key: string): Promise<void> {
  const message = `bad key ${ENV.UPSTREAM_KEY}`
  up.answer(json({ error: { message, code: ENV.UPSTREAM_KEY } }, { status: 400 }))
  await gateway.request('/v1/chat/completions', { key, body: bodyOf('hello') })
}

interface Seen {
  readonly metrics: string
  readonly traces: string
  readonly lines: string
  readonly log: string
  readonly receipts: string
}

/** All that the gateway said of itself: read once it has ended, so that nothing is still to come. */
async function seen(t: Test, { gateway, collector, admin }: Stage): Promise<Seen> {
  const scraped = (await request(t, admin, '/metrics', { key: ADMIN_SECRET })).text
  await gateway.gateway.close()
  const sent = (path: string): string =>
    collector.requests.items
      .filter(one => one.path === path)
      .map(({ body }) => body.toString())
      .join('\n')
  const folder = join(gateway.folder, 'receipts')
  const written = readdirSync(folder).map(name => readFileSync(join(folder, name), 'utf8'))
  return {
    metrics: scraped + sent('/v1/metrics'),
    traces: sent('/v1/traces'),
    lines: sent('/v1/logs'),
    log: gateway.log.items.map(line => JSON.stringify(line)).join('\n'),
    receipts: written.join('\n'),
  }
}

function hasNo(t: Test, all: Seen, places: readonly (keyof Seen)[], canaries: readonly string[]): void {
  for (const place of places) {
    t.ok(all[place].length > 500, `there is something in ${place}`)
    for (const one of canaries) t.notOk(all[place].includes(one), `${one} is not in ${place}`)
  }
}

const EVERYWHERE = ['metrics', 'traces', 'lines', 'log', 'receipts'] as const

t.test('F-D2 a canary prompt and canary secrets are in no metric, span, line or receipt', async t => {
  const staged = await stage(t)
  for (const key of [ENV.KEY_PLAIN, ENV.KEY_OFF]) {
    await sayEverywhere(staged, key)
    await quoteSecrets(staged, key)
  }
  await staged.collector.spans.count(10)
  hasNo(t, await seen(t, staged), EVERYWHERE, [PROMPT, ...Object.values(ENV)])
})

function contents(span: ReceivedSpan | undefined, name: string): readonly string[] {
  const found = span?.events.filter(event => event.name === `gateway.${name}.content`) ?? []
  return found.map(({ attributes }) => String(attributes['gateway.content']))
}

t.test(
  'F-D2 content of keys that ask for it is in events of their spans alone: masked, or cut off at its size',
  async t => {
    const staged = await stage(t)
    const { gateway, collector, up } = staged
    const said = `${PROMPT} a.person@example.com sk-a1b2c3d4e5f6a7b8 project heron`
    up.answer(json(CHAT_ANSWER), stream([chatEvent('sea'), DONE]))
    await gateway.request('/v1/chat/completions', { key: ENV.KEY_MASKED, body: bodyOf(said) })
    const long = `${PROMPT} ${'w'.repeat(2 * SIZE)}`
    await gateway.request('/v1/chat/completions', { key: ENV.KEY_FULL, body: bodyOf(long, { stream: true }) })
    const servers = await collector.spans.count(2, ({ kind }) => kind === 'SPAN_KIND_SERVER')
    const [masked, full] = ['masked', 'full'].map(key => servers.find(one => one.attributes['gateway.key'] === key))
    const [shown = ''] = contents(masked, 'request')
    t.match(JSON.parse(shown), bodyOf(`${PROMPT} [email] [key] [word]`))
    t.match(JSON.parse(contents(masked, 'answer')[0] ?? ''), { id: CHAT_ANSWER.id })
    const [cut = ''] = contents(full, 'request')
    t.equal(cut.length, SIZE)
    t.ok(JSON.stringify(bodyOf(long, { stream: true })).startsWith(cut))
    t.equal(contents(full, 'answer')[0], chatEvent('sea') + DONE)
    const event = full?.events.find(({ name }) => name === 'gateway.request.content')
    t.equal(
      event?.attributes['gateway.content.cut_bytes'],
      JSON.stringify(bodyOf(long, { stream: true })).length - SIZE,
    )
    const all = await seen(t, staged)
    hasNo(t, all, ['metrics', 'lines', 'log', 'receipts'], [PROMPT, 'a.person', 'a1b2c3d4'])
    hasNo(t, all, ['traces'], ['a.person', 'a1b2c3d4', 'heron', ...Object.values(ENV)])
  },
)

t.test('what is masked of a stream may be cut by its events: in spans, receipts and details of requests', async t => {
  const staged = await stage(t)
  const { gateway, collector, up, admin } = staged
  const pieces = ['The H', 'er', 'on says a.per', 'son@exam', 'ple.com sk-a1b2', 'c3d4e5f6a7b8.']
  up.answer(stream([...pieces.map(chatEvent), DONE]))
  const answer = await gateway.request('/v1/chat/completions', {
    key: ENV.KEY_KEPT,
    body: bodyOf('hello', { stream: true }),
  })
  const id = answer.header('x-request-id') ?? ''
  const [span] = await collector.spans.count(1, ({ kind }) => kind === 'SPAN_KIND_SERVER')
  const detail = await request(t, admin, `/admin/requests/${id}`, { key: ADMIN_SECRET })
  const all = await seen(t, staged)
  const receipt = await run(['receipts', 'show', id, '--content'], { cwd: gateway.folder, env: ENV })
  t.equal(detail.status, 200, detail.text)
  t.equal(receipt.code, 0, receipt.stderr)
  const places = { span: contents(span, 'answer')[0], detail: detail.text, receipt: receipt.stdout }
  for (const [place, shown = ''] of Object.entries(places)) {
    for (const mark of ['[word]', '[email]', '[key]']) t.ok(shown.includes(mark), `${place} has ${mark}`)
    for (const piece of ['The H"', 'a.per', 'exam', 'a1b2', 'e5f6'])
      t.notOk(shown.includes(piece), `${place}: ${piece}`)
  }
  hasNo(t, all, EVERYWHERE, ['says a.per', 'son@exam', 'sk-a1b2', 'c3d4e5f6a7b8'])
})
