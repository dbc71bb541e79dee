import { once } from 'node:events'
import t, { type Test } from 'tap'
import { WebSocket } from 'ws'
import type { Feature } from '../../src/kernel/stages.js'
import { json, stream } from '../helpers/answers.js'
import { startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import { Journal } from '../helpers/journal.js'
import { withFeature } from '../helpers/metered.js'
import type { Answer } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

// Upstreams open every file for the gateway's secret: what the gateway adds to a request names only files of its caller.

const BOB = 'bob-secret-key-of-some-length'

/** Refuses what has the word. */
const WORDS = `export const openCheck = () => ({
  async check(request) {
    return JSON.stringify((await request.body()) ?? '').includes('forbidden') ? { refuse: 'no', status: 422 } : 'pass'
  },
})`

const item = (text: string) => ({
  ...{ id: 'msg_1', type: 'message', role: 'assistant', status: 'completed' },
  content: [{ type: 'output_text', text, annotations: [] }],
})
const RESPONSE = { id: 'resp_1', object: 'response', status: 'completed', output: [item('Read.')] }
const answered = json(RESPONSE)
const streamed = stream(
  ['created', 'completed'].map((name, sequence_number) => {
    const event = { type: `response.${name}`, sequence_number, response: RESPONSE }
    return `event: response.${name}\ndata: ${JSON.stringify(event)}\n\n`
  }),
)

const naming = (file_id: string) => ({ type: 'message', role: 'user', content: [{ type: 'input_file', file_id }] })

interface Stage {
  readonly gateway: TestGateway
  readonly a: RawUpstream
  readonly b: RawUpstream
  post(path: string, body: object, key?: string): Promise<Answer>
}

/** Ann has `file-ann` at `a`; the model `m` is at both, `b` first. */
async function stage(test: Test): Promise<Stage> {
  const [a, b] = [await startRawUpstream(test), await startRawUpstream(test)]
  const yaml = `version: 1
keys: { ann: { secret: { env: CALLER_KEY } }, bob: { secret: { env: BOB_KEY } } }
upstreams: { a: ${upstreamYaml(a.origin)}, b: ${upstreamYaml(b.origin)} }
models: { m: [b, a], only-a: a, only-b: b }
checks: { words: { type: ./words.mjs } }
`
  const gateway = await startTestGateway(test, yaml, { env: { BOB_KEY: BOB }, files: { 'words.mjs': WORDS } })
  a.answer(json({ id: 'file-ann', object: 'file', bytes: 1, created_at: 1, filename: 'a', purpose: 'user_data' }))
  const form = `--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nx\r\n--b--\r\n`
  const headers = { 'content-type': 'multipart/form-data; boundary=b' }
  const made = await gateway.request('/v1/files?model=only-a', { body: Buffer.from(form), headers })
  test.equal(made.status, 200, made.text)
  for (const one of [a, b]) one.answer(answered)
  const post: Stage['post'] = (path, body, key) =>
    gateway.request(path, { body: { model: 'm', ...body }, ...(key !== undefined && { key }) })
  return { gateway, a, b, post }
}

const sent = (...all: readonly RawUpstream[]): readonly number[] => all.map(one => one.requests.items.length)

async function conversation({ gateway }: Stage, items: readonly object[], key = gateway.key): Promise<string> {
  const made = await gateway.request('/v1/conversations', { body: { items }, key })
  return (made.json() as { id: string }).id
}

for (const path of ['/v1/responses', '/v1/responses/input_tokens', '/v1/responses/compact']) {
  t.test(`${path}: a file of another key is not found, whether the body or its conversation names it`, async t => {
    const at = await stage(t)
    const id = await conversation(at, [naming('file-ann')], BOB)
    for (const body of [{ input: [naming('file-ann')] }, { conversation: id, input: 'Read it.' }]) {
      const refused = await at.post(path, body, BOB)
      t.equal(refused.status, 404, refused.text)
      const param = 'conversation' in body ? 'conversation' : null
      t.match(refused.json(), { error: { message: /No such .*file-ann/, param } })
    }
    t.same(sent(at.a, at.b), [1, 0], 'only the upload came to an upstream')
  })
}

for (const path of ['/v1/responses', '/v1/responses/compact']) {
  t.test(`${path}: a conversation goes where its files are`, async t => {
    const at = await stage(t)
    const id = await conversation(at, [naming('file-ann')])
    const answer = await at.post(path, { conversation: id, input: 'Read it.' })
    t.equal(answer.status, 200, answer.text)
    t.same(sent(at.a, at.b), [2, 0])
    t.match(at.a.last.json(), { input: [{ content: [{ file_id: 'file-ann' }] }, { role: 'user' }] })
    const elsewhere = await at.post(path, { conversation: id, input: 'Read it.', model: 'only-b' })
    t.equal(elsewhere.status, 400)
    t.match(elsewhere.json(), { error: { param: 'conversation' } })
    t.same(sent(at.a, at.b), [2, 0])
  })
}

t.test('a conversation may name more files than a request; their records are read several at a time', async t => {
  const up = await startRawUpstream(t)
  up.answer(answered)
  const yaml = `version: 1
keys: { ann: { secret: { env: CALLER_KEY } } }
store: { type: memory }
upstreams: { up: ${upstreamYaml(up.origin, 'resources: { unknown: pass }')} }
models: { m: up }
`
  const reading = { now: 0, most: 0 }
  const counter: Feature = {
    name: 'counter',
    open({ store }) {
      const get = store.get.bind(store)
      store.get = async (namespace, owner, key) => {
        if (!key.startsWith('file-')) return get(namespace, owner, key)
        reading.most = Math.max(reading.most, ++reading.now)
        return get(namespace, owner, key).finally(() => reading.now--)
      }
      return {}
    },
    compile: () => undefined,
  }
  const gateway = await startTestGateway(t, yaml, { features: withFeature(counter) })
  const content = (files: number) =>
    Array.from({ length: files }, (_, index) => ({ type: 'input_file', file_id: `file-${index}` }))
  const ask = async (files: number) => {
    const items = [{ type: 'message', role: 'user', content: content(files) }]
    const made = await gateway.request('/v1/conversations', { body: { items } })
    const { id } = made.json() as { id: string }
    return gateway.request('/v1/responses', { body: { model: 'm', conversation: id, input: 'Read them.' } })
  }
  const many = await ask(257)
  t.equal(many.status, 200, many.text)
  t.equal(reading.most, 32)
  const input = [{ type: 'message', role: 'user', content: content(257) }]
  const named = await gateway.request('/v1/responses', { body: { model: 'm', input } })
  t.match(named.json(), { error: { message: 'The request names more than 256 files.', param: null } })
  const tooMany = await ask(10_001)
  t.equal(tooMany.status, 400)
  t.match(tooMany.json(), {
    error: { message: 'The conversation names more than 10000 files.', param: 'conversation' },
  })
  t.same(sent(up), [1])
})

interface Event {
  readonly type: string
  readonly response?: { readonly id: string }
  readonly status?: number
  readonly error?: { readonly param?: string | null }
}

class Client {
  readonly events = new Journal<Event>('events')
  readonly #socket: WebSocket
  #ends = 0

  private constructor(socket: WebSocket) {
    this.#socket = socket
    socket.on('message', data => this.events.push(JSON.parse(String(data)) as Event))
  }

  static async connect(test: Test, { origin }: TestGateway, key: string): Promise<Client> {
    const socket = new WebSocket(`${origin.replace('http', 'ws')}/v1/responses`, {
      headers: { authorization: `Bearer ${key}` },
    })
    test.teardown(() => socket.terminate())
    const client = new Client(socket)
    await once(socket, 'open')
    return client
  }

  /** The last event of the answer to a message. */
  async ask(message: object): Promise<Event> {
    this.#socket.send(JSON.stringify({ type: 'response.create', model: 'm', store: false, ...message }))
    const ends = await this.events.count(++this.#ends, ({ type }) =>
      /^(response\.(completed|failed)|error)$/.test(type),
    )
    return ends.at(-1) ?? { type: '' }
  }
}

t.test('input that a socket sends ahead passes what the turn that continues it passes', async t => {
  const at = await stage(t)
  // So that `b` keeps an item of Ann's.
  t.equal((await at.post('/v1/responses', { model: 'only-b', input: 'x' })).status, 200)
  const before = sent(at.a, at.b)
  const cases: readonly (readonly [input: object, status: number])[] = [
    [naming('file-ann'), 404],
    [{ type: 'item_reference', id: 'msg_1' }, 404],
    [{ type: 'message', role: 'user', content: 'forbidden' }, 422],
  ]
  for (const [input, status] of cases) {
    const client = await Client.connect(t, at.gateway, BOB)
    const ahead = await client.ask({ generate: false, input: [input] })
    const refused = await client.ask({ previous_response_id: ahead.response?.id, input: 'Read it.' })
    t.match(refused, { type: 'error', status }, JSON.stringify(input))
  }
  t.same(sent(at.a, at.b), before)
})

t.test('what a socket sends ahead in several messages comes first, in order, and once', async t => {
  const at = await stage(t)
  for (const one of [at.a, at.b]) one.answer(streamed)
  const client = await Client.connect(t, at.gateway, at.gateway.key)
  const one = await client.ask({ generate: false, input: 'one' })
  const two = await client.ask({ generate: false, input: [naming('file-ann')], previous_response_id: one.response?.id })
  const three = await client.ask({ input: 'three', previous_response_id: two.response?.id })
  t.equal(three.type, 'response.completed')
  await client.ask({ input: 'four', previous_response_id: three.response?.id })
  t.same(sent(at.a, at.b), [3, 0], 'where the file is')
  const { input } = at.a.last.json() as { input: { content: { text?: string; file_id?: string }[] }[] }
  t.same(
    input.map(({ content: [part] }) => part?.text ?? part?.file_id),
    ['one', 'file-ann', 'three', 'Read.', 'four'],
  )
})

t.test('a socket continues with what an upstream keeps, and only there', async t => {
  const at = await stage(t)
  // So that `a` keeps an item.
  t.equal((await at.post('/v1/responses', { model: 'only-a', input: 'x' })).status, 200)
  const response = { ...RESPONSE, id: 'resp_2', output: [{ ...item('Told.'), id: 'msg_2' }] }
  const event = { type: 'response.completed', sequence_number: 0, response }
  for (const one of [at.a, at.b]) one.answer(stream([`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`]))
  const before = sent(at.a, at.b)
  const client = await Client.connect(t, at.gateway, at.gateway.key)
  const reference = { type: 'item_reference', id: 'msg_1' }
  const question = { type: 'message', role: 'user', content: 'What is it?' }
  const one = await client.ask({ input: [reference, question] })
  const two = await client.ask({ previous_response_id: one.response?.id, input: 'Again.' })
  t.equal(two.type, 'response.completed')
  const three = await client.ask({ previous_response_id: two.response?.id, input: [reference, question] })
  t.same(sent(at.a, at.b), [Number(before[0]) + 3, before[1]])
  const { input } = at.a.last.json() as { input: { type?: string; id?: string; role?: string }[] }
  t.same(
    input.map(({ type, id, role }) => (type === 'item_reference' ? id : role)),
    ['msg_1', 'user', 'assistant', 'user', 'assistant', 'msg_1', 'user'],
  )
  const elsewhere = await client.ask({ previous_response_id: three.response?.id, input: 'Again.', model: 'only-b' })
  t.match(elsewhere, { type: 'error', status: 400 })
  t.equal(sent(at.b)[0], before[1])
})

t.test('a socket that names a file of another upstream gets the member that leads there', async t => {
  const at = await stage(t)
  at.a.answer(streamed)
  const client = await Client.connect(t, at.gateway, at.gateway.key)
  const one = await client.ask({ input: [naming('file-ann')] })
  const refused = await client.ask({ previous_response_id: one.response?.id, input: 'Again.', model: 'only-b' })
  t.match(refused, { type: 'error', status: 400, error: { param: 'previous_response_id' } })
})
