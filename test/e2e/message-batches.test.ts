import Anthropic, { toFile } from '@anthropic-ai/sdk'
import t, { type Test } from 'tap'
import { body, chunk, head, json, LAST_CHUNK } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type Answer, type RequestOptions, request } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

/** Batches of messages: relayed where the upstream has them, refused by name elsewhere. */

const BOB = 'bob-secret-key-of-some-length'
const VERSION = { 'anthropic-version': '2023-06-01' }
const ask = (model: string, more: object = {}) => ({
  model,
  max_tokens: 64,
  messages: [{ role: 'user' as const, content: 'hello' }],
  ...more,
})
const batchOf = (...models: string[]) => ({
  requests: models.map((model, index) => ({ custom_id: `r${index}`, params: ask(model) })),
})
const anthropic = ({ origin }: TestGateway, apiKey: string): Anthropic =>
  new Anthropic({ apiKey, baseURL: origin, maxRetries: 0 })

// ── the simulator, by the SDK

const SIMULATED = `version: 1
keys: { ann: { secret: { env: CALLER_KEY } }, bob: { secret: { env: BOB_KEY } } }
upstreams:
  sim-chat: { kind: simulator-chat }
  sim-messages: { kind: simulator-messages, traits: { max_output: 4096 } }
models:
  sim-messages: sim-messages
  "sim-messages?*": sim-messages
  fast: { upstream: sim-messages, as: sim-messages }
  quick: { upstream: sim-messages, as: sim-messages }
  sim-chat: sim-chat
`

t.test('the SDK makes, follows, reads, lists, cancels and deletes batches', async t => {
  const gateway = await startTestGateway(t, SIMULATED, { env: { BOB_KEY: BOB } })
  const { batches } = anthropic(gateway, gateway.key).messages
  const bob = anthropic(gateway, BOB).messages.batches
  const failing = { custom_id: 'ill', params: ask('sim-messages?status=529') }
  const made = await batches.create({ requests: [...batchOf('fast', 'quick', 'sim-messages').requests, failing] })
  t.match(made, {
    type: 'message_batch',
    processing_status: 'in_progress',
    results_url: null,
    request_counts: { processing: 4, succeeded: 0 },
  })
  const early = await batches.results(made.id).catch((error: unknown) => error)
  t.match(early, { message: /no batch `results_url`/i })

  let batch = made
  while (batch.processing_status !== 'ended') batch = await batches.retrieve(made.id)
  t.match(batch.request_counts, { processing: 0, succeeded: 3, errored: 1 })
  t.equal(batch.results_url, `${gateway.origin}/v1/messages/batches/${made.id}/results`, 'an address of the gateway')
  const listed = await batches.list()
  t.match(listed.data, [{ id: made.id, results_url: batch.results_url }])

  const models = new Map<string, unknown>()
  for await (const { custom_id, result } of await batches.results(made.id)) {
    models.set(custom_id, result.type === 'succeeded' ? result.message.model : result)
  }
  t.match(Object.fromEntries(models), {
    r0: 'fast',
    r1: 'quick',
    r2: 'sim-messages',
    ill: { type: 'errored', error: { type: 'error', error: { type: 'overloaded_error' } } },
  })

  for (const foreign of [bob.retrieve(made.id), bob.cancel(made.id), bob.delete(made.id), bob.results(made.id)]) {
    const error = await foreign.catch((cause: unknown) => cause)
    t.ok(error instanceof Anthropic.NotFoundError, String(error))
    t.match(error, { error: { type: 'error', error: { type: 'not_found_error' } } })
  }
  const stolen = await request(t, gateway.origin, `/v1/messages/batches/${made.id}/results`, {
    method: 'GET',
    headers: { 'x-api-key': BOB },
  })
  t.equal(stolen.status, 404)
  t.same((await bob.list()).data, [])

  const second = await batches.create(batchOf('fast'))
  t.match(await batches.cancel(second.id), { processing_status: 'canceling', cancel_initiated_at: /Z$/ })
  t.match(await batches.retrieve(second.id), { processing_status: 'ended', request_counts: { canceled: 1 } })
  const page = await batches.list({ limit: 1 })
  t.match(page.data, [{ id: second.id }], 'the newest first')
  t.match((await page.getNextPage()).data, [{ id: made.id }])
  t.same(await batches.delete(second.id), { id: second.id, type: 'message_batch_deleted' })
  t.ok((await batches.retrieve(second.id).catch((error: unknown) => error)) instanceof Anthropic.NotFoundError)
  const beta = await anthropic(gateway, gateway.key).beta.messages.batches.create(batchOf('fast'))
  t.match(beta, { type: 'message_batch' })
})

t.test('a batch for models without batches is refused, and names who serves them', async t => {
  const gateway = await startTestGateway(t, SIMULATED, { env: { BOB_KEY: BOB } })
  const { batches } = anthropic(gateway, gateway.key).messages
  const refused = (...models: string[]) => batches.create(batchOf(...models)).catch((error: unknown) => error)
  t.match(await refused('fast', 'sim-chat'), {
    status: 400,
    error: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message: /`sim-chat` of 'requests\[1\]\.params\.model' is served by 'sim-chat'.*POST \/v1\/messages/,
      },
    },
  })
  t.match(await refused('fast', 'nothing'), { status: 404, error: { error: { type: 'not_found_error' } } })
})

t.test('a file that a request names is its owner’s, and decides where the batch goes', async t => {
  const gateway = await startTestGateway(
    t,
    SIMULATED.replace(
      '\nmodels:',
      '\n  second: { kind: simulator }\nmodels:\n  elsewhere: { upstream: second, as: sim-messages }',
    ),
    { env: { BOB_KEY: BOB } },
  )
  const sdk = anthropic(gateway, gateway.key)
  const file = await sdk.beta.files.upload({ file: await toFile(Buffer.from('The quick brown fox.'), 'a.txt') })
  const content = [{ type: 'document' as const, source: { type: 'file' as const, file_id: file.id } }]
  const requests = (model: string) => [
    { custom_id: 'a', params: { ...ask(model), messages: [{ role: 'user' as const, content }] } },
  ]
  t.match(await sdk.beta.messages.batches.create({ requests: requests('fast') }), { type: 'message_batch' })
  const foreign = anthropic(gateway, BOB).beta.messages.batches.create({ requests: requests('fast') })
  t.match(await foreign.catch((error: unknown) => error), { status: 404 })
  const apart = sdk.beta.messages.batches.create({ requests: requests('elsewhere') })
  t.match(await apart.catch((error: unknown) => error), {
    status: 400,
    error: { error: { message: /not at 'second'/ } },
  })
})

// ── an upstream of the protocol

interface Stage {
  readonly gateway: TestGateway
  readonly up: RawUpstream
  readonly other: RawUpstream
  post(path: string, options?: RequestOptions): Promise<Answer>
}

const BATCH = {
  id: 'msgbatch_1',
  type: 'message_batch',
  processing_status: 'ended',
  request_counts: { processing: 0, succeeded: 1, errored: 0, canceled: 0, expired: 0 },
  results_url: 'https://upstream.example/v1/messages/batches/msgbatch_1/results',
}

async function stage(t: Test, key = 'models: ["*"]'): Promise<Stage> {
  const [up, other] = [await startRawUpstream(t), await startRawUpstream(t)]
  const upstream = (origin: string): string =>
    `{ kind: anthropic, base: "${origin}", secret: { env: UPSTREAM_KEY }, traits: { max_output: 99 } }`
  const gateway = await startTestGateway(
    t,
    `version: 1
keys:
  ann: { secret: { env: CALLER_KEY }, ${key} }
  bob: { secret: { env: BOB_KEY } }
upstreams:
  other: ${upstream(other.origin)}
  up: ${upstream(up.origin)}
models:
  mine: { upstream: up, as: claude-real }
  also: { upstream: up, as: claude-other, request: [{ default: { max_tokens: 7 } }, { remove: [metadata] }] }
  elsewhere: { upstream: other, as: claude-real }
  both: [{ upstream: other, as: claude-there }, { upstream: up, as: claude-here }]
  claude-real: up
`,
    { env: { BOB_KEY: BOB } },
  )
  const post: Stage['post'] = (path, { headers, ...options } = {}) =>
    request(t, gateway.origin, path, { headers: { 'x-api-key': gateway.key, ...VERSION, ...headers }, ...options })
  return { gateway, up, other, post }
}

t.test('every request gets its upstream’s name of its model, and what is declared for that', async t => {
  const { gateway, up, other, post } = await stage(t)
  up.answer(json(BATCH))
  const requests = [
    { custom_id: 'a', params: ask('mine') },
    { custom_id: 'b', params: { model: 'also', messages: ask('').messages, metadata: { user_id: 'u' } } },
    { custom_id: 'c', params: ask('both', { provider: { order: ['x'] }, fallbacks: ['mine'] }) },
  ]
  const answer = await post('/v1/messages/batches?beta=true', {
    body: { requests },
    headers: { 'anthropic-beta': 'message-batches-2024-09-24' },
  })
  t.equal(answer.status, 200, answer.text)
  t.match(answer.json(), { results_url: `${gateway.origin}/v1/messages/batches/msgbatch_1/results` })
  t.equal(answer.header('x-gateway-dropped'), 'requests.params.provider')
  const [sent] = up.requests.items
  t.equal(sent?.target, '/v1/messages/batches?beta=true')
  t.match(sent?.header('x-api-key'), /./)
  t.not(sent?.header('x-api-key'), gateway.key)
  t.equal(sent?.header('anthropic-beta'), 'message-batches-2024-09-24')
  t.same(sent?.json(), {
    requests: [
      { custom_id: 'a', params: ask('claude-real') },
      { custom_id: 'b', params: { max_tokens: 7, model: 'claude-other', messages: ask('').messages } },
      { custom_id: 'c', params: ask('claude-here', { fallbacks: ['claude-real'] }) },
    ],
  })
  t.equal(other.requests.items.length, 0)
})

t.test('what no one upstream serves, or the key may not use, goes nowhere', async t => {
  const { up, other, post } = await stage(t, 'models: [mine, elsewhere, both]')
  const cases: readonly (readonly [body: unknown, status: number, message: RegExp])[] = [
    [batchOf('mine', 'elsewhere'), 400, /`mine` of 'requests\[0\]\.params' by 'up', `elsewhere` of .* by 'other'/],
    [batchOf('mine', 'also'), 404, /`also` of 'requests\[1\]\.params\.model'/],
    [{ requests: [{ custom_id: 'a', params: ask('mine', { fallbacks: ['also'] }) }] }, 404, /params\.fallbacks\[0\]/],
    [{ requests: [{ custom_id: 'a', params: ask('mine', { api_base: 'http://x' }) }] }, 400, /params\.api_base/],
    [{ requests: [{ custom_id: 'a', params: {} }] }, 400, /requests\[0\]\.params\.model/],
    [{ requests: [] }, 400, /requests/],
    [{}, 400, /requests/],
    [{ requests: [{ custom_id: 'a', params: { ...ask('mine'), Model: 'also' } }] }, 400, /params\.model/],
    [{ requests: [{ custom_id: 'a', params: ask('mine'), Params: ask('also') }] }, 400, /requests\[0\]\.params/],
  ]
  for (const [body, status, message] of cases) {
    const answer = await post('/v1/messages/batches', { body })
    t.equal(answer.status, status, answer.text)
    t.match(answer.json(), { type: 'error', error: { message } })
  }
  const twice = [
    '{"requests":[{"custom_id":"a","params":{"model":"mine","model":"also"}}]}',
    '{"requests":[{"custom_id":"a","params":{"model":"mine"},"params":{"model":"also"}}]}',
    '{"requests":[{"custom_id":"a","params":{"model":"mine"}}],"requests":[{"custom_id":"a","params":{"model":"also"}}]}',
    '{"requests":[{"custom_id":"a","params":{"model":"mine"}}],"Requests":[{"custom_id":"a","params":{"model":"also"}}]}',
    '{"requests":[{"custom_id":"a","params":{"model":"mine","mod\\u0065l":"also"}}]}',
  ]
  for (const body of twice) {
    const answer = await post('/v1/messages/batches', { body, headers: { 'content-type': 'application/json' } })
    t.equal(answer.status, 400, body)
  }
  t.same([up.requests.items.length, other.requests.items.length], [0, 0])
})

t.test('a batch of models that several upstreams serve continues to the next where one cannot be reached', async t => {
  const { up, other, post } = await stage(t)
  await other.close()
  up.answer(json(BATCH))
  const answer = await post('/v1/messages/batches', { body: batchOf('both') })
  t.equal(answer.status, 200, answer.text)
  t.match(up.requests.items[0]?.json(), { requests: [{ params: { model: 'claude-here' } }] })
})

/** What one side waits for, and the other one does. */
function gate(): { readonly opened: Promise<void>; open(): void } {
  let open = (): void => undefined
  const opened = new Promise<void>(resolve => {
    open = resolve
  })
  return { opened, open: () => open() }
}

const line = (custom_id: string, model: string, text = 'hi'): string =>
  `${JSON.stringify({ custom_id, result: { type: 'succeeded', message: { model, content: [{ type: 'text', text }] } } })}\n`

t.test('results stream line by line, with the client’s names of its models', async t => {
  const { gateway, up, post } = await stage(t)
  up.answer(json(BATCH))
  const made = await post('/v1/messages/batches', { body: batchOf('mine', 'also', 'both', 'claude-real') })
  t.equal(made.status, 200, made.text)
  const errored =
    '{"custom_id":"x","result":{"type":"errored","error":{"type":"error","error":{"type":"api_error"}}}}\n'
  const seen = gate()
  up.answer(async peer => {
    const fields = { 'content-type': 'application/x-jsonl', 'transfer-encoding': 'chunked', etag: '"a"' }
    await peer.send(head(200, fields))
    const first = line('r0', 'claude-real-20260101')
    await peer.send(chunk(first.slice(0, 30)))
    await peer.send(chunk(first.slice(30) + line('r1', 'claude-other').slice(0, 10)))
    await seen.opened
    await peer.send(chunk(line('r1', 'claude-other').slice(10) + errored + line('r3', 'claude-real-20260101')))
    await peer.send(chunk(`${line('r2', 'claude-here').trimEnd()}`))
    await peer.send(LAST_CHUNK)
  })
  const client = await gateway.open('/v1/messages/batches/msgbatch_1/results', {
    method: 'GET',
    headers: { range: 'bytes=0-9' },
  })
  const answered = await client.head()
  const first = line('r0', 'mine')
  const begun = await client.body(answered, got => got.length >= first.length)
  t.equal(begun.body.toString(), first, 'before the upstream has said the rest')
  t.notMatch(answered.raw.toString(), /etag/i)
  t.match(answered.raw.toString(), /application\/x-jsonl/)
  t.equal(up.requests.items.at(-1)?.header('range'), undefined)
  seen.open()
  client.socket.destroy()

  const whole = line('r0', 'claude-real') + line('r1', 'claude-other') + errored + line('r3', 'claude-real-2')
  up.answer(body(whole + line('r2', 'claude-here').trimEnd(), { headers: { 'content-type': 'application/x-jsonl' } }))
  const answer = await post('/v1/messages/batches/msgbatch_1/results', { method: 'GET' })
  const names = line('r0', 'mine') + line('r1', 'also') + errored + line('r3', 'claude-real')
  t.equal(answer.text, names + line('r2', 'both').trimEnd())
})

t.test('results are not held: many times the memory of a line passes', async t => {
  const { gateway, up, post } = await stage(t)
  up.answer(json(BATCH))
  await post('/v1/messages/batches', { body: batchOf('mine') })
  const LINES = 24
  const large = line('r0', 'claude-real', 'x'.repeat(1024 * 1024))
  const first = gate()
  const { batches } = anthropic(gateway, gateway.key).messages
  up.answer(json(BATCH), async peer => {
    await peer.send(head(200, { 'content-type': 'application/x-jsonl', 'transfer-encoding': 'chunked' }))
    for (let sent = 0; sent < LINES; sent++) {
      if (sent === 2) await first.opened
      if (!peer.socket.write(chunk(large))) await new Promise(resolve => peer.socket.once('drain', resolve))
    }
    await peer.send(LAST_CHUNK)
  })
  let read = 0
  for await (const { result } of await batches.results('msgbatch_1')) {
    if (read === 0) first.open()
    read++
    if (result.type === 'succeeded') t.equal(result.message.model, 'mine')
  }
  t.equal(read, LINES, 'though the upstream waits until the first line has been read')
})

t.test('a transfer of results that breaks off is seen to be broken', async t => {
  const { gateway, up, post } = await stage(t)
  up.answer(json(BATCH))
  await post('/v1/messages/batches', { body: batchOf('mine') })
  const seen = gate()
  up.answer(async peer => {
    await peer.send(head(200, { 'content-type': 'application/x-jsonl', 'transfer-encoding': 'chunked' }))
    await peer.send(chunk(line('r0', 'claude-real') + line('r1', 'claude-real').slice(0, 20)))
    await seen.opened
    peer.reset()
  })
  const client = await gateway.open('/v1/messages/batches/msgbatch_1/results', { method: 'GET' })
  const answered = await client.head()
  const first = line('r0', 'mine')
  const { body: got, whole } = await client.body(answered, got => {
    if (got.length >= first.length) seen.open()
    return false
  })
  t.equal(got.toString(), first)
  t.equal(whole, false)
})

t.test('results that are not there yet do not make the batch unknown', async t => {
  const { up, post } = await stage(t)
  up.answer(json(BATCH))
  await post('/v1/messages/batches', { body: batchOf('mine') })
  const error = { type: 'error', error: { type: 'not_found_error', message: 'no results yet' } }
  up.answer(json(error, { status: 404 }), json(BATCH))
  const answer = await post('/v1/messages/batches/msgbatch_1/results', { method: 'GET' })
  t.equal(answer.status, 404)
  t.match(answer.json(), error)
  t.equal((await post('/v1/messages/batches/msgbatch_1', { method: 'GET' })).status, 200)
})

t.test(
  'a batch that its upstream does not know is forgotten where its client deletes it, and nowhere else',
  async t => {
    const { up, post } = await stage(t)
    const ask = async (method: string, below = '') => (await post(`/v1/messages/batches${below}`, { method })).status
    const none = json({ type: 'error', error: { type: 'not_found_error', message: 'none' } }, { status: 404 })
    up.answer(json(BATCH), none, none, json(BATCH), none)
    await post('/v1/messages/batches', { body: batchOf('mine') })
    t.equal(await ask('GET', '/msgbatch_1'), 404)
    t.equal(await ask('POST', '/msgbatch_1/cancel'), 404)
    t.equal(await ask('GET', '/msgbatch_1'), 200, 'it is still known')
    t.equal(await ask('DELETE', '/msgbatch_1'), 404)
    // The answer does not wait for that: after a while its upstream is not asked again.
    for (let asked = 0; asked !== up.requests.items.length; ) {
      asked = up.requests.items.length
      t.equal(await ask('GET', '/msgbatch_1'), 404)
    }
    t.equal(await ask('GET', '?after_id=msgbatch_1'), 200, 'a client that reads page by page continues')
    t.equal(await ask('GET', '?after_id=msgbatch_2'), 400)
  },
)

proveNoLeak(t)
