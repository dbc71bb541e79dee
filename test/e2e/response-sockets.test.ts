import { once } from 'node:events'
import OpenAI from 'openai'
import { ResponsesWS } from 'openai/resources/responses/ws'
import t from 'tap'
import { WebSocket } from 'ws'
import { chatEvent, chunk, DONE, hang, json, startStream, stream } from '../helpers/answers.js'
import { CALLER, type GatewayOptions, oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { inTime, Journal } from '../helpers/journal.js'
import { connectRaw } from '../helpers/raw-client.js'
import { type RawUpstream, type Script, startRawUpstream } from '../helpers/raw-upstream.js'

type Test = Pick<typeof t, 'teardown'>
type Message = Readonly<Record<string, unknown>> & { readonly type: string }

const event = (type: string, more: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`

/** A streamed response that says one word. */
function says(id: string, word: string): Script {
  const item = {
    id: `msg_${id}`,
    type: 'message',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: word, annotations: [] }],
  }
  return stream([
    event('response.created', {
      sequence_number: 0,
      response: { id, object: 'response', status: 'in_progress', output: [] },
    }),
    event('response.output_text.delta', {
      sequence_number: 1,
      item_id: item.id,
      output_index: 0,
      content_index: 0,
      delta: word,
    }),
    event('response.completed', {
      sequence_number: 2,
      response: { id, object: 'response', status: 'completed', output: [item] },
    }),
  ])
}

interface Stage {
  readonly gateway: TestGateway
  readonly up: RawUpstream
  connect(options?: { readonly key?: string; readonly headers?: Record<string, string> }): Promise<Client>
}

class Client {
  readonly socket: WebSocket
  readonly messages = new Journal<Message>('messages')
  readonly closed = new Journal<{ readonly code: number; readonly reason: string }>('close')

  constructor(socket: WebSocket) {
    this.socket = socket
    socket.on('message', data => this.messages.push(JSON.parse(String(data)) as Message))
    socket.on('close', (code, reason) => this.closed.push({ code, reason: String(reason) }))
    socket.on('error', () => undefined)
  }

  create(body: object): void {
    this.socket.send(JSON.stringify({ type: 'response.create', model: 'm', input: 'hi', ...body }))
  }

  /** The types of all messages so far, once the last of so many responses is there. */
  async types(responses: number): Promise<string[]> {
    await this.messages.count(responses, isLast)
    return this.messages.items.map(one => one.type)
  }
}

async function stage(test: Test, more = '', options?: GatewayOptions, upstream?: string): Promise<Stage> {
  const up = await startRawUpstream(test)
  const gateway = await startTestGateway(test, oneUpstream(up.origin, more, upstream), options)
  return {
    gateway,
    up,
    connect: async ({ key = gateway.key, headers = {} } = {}) => {
      const socket = new WebSocket(`${gateway.origin.replace('http', 'ws')}/v1/responses`, {
        headers: { authorization: `Bearer ${key}`, ...headers },
      })
      test.teardown(() => socket.terminate())
      const client = new Client(socket)
      await once(socket, 'open')
      return client
    },
  }
}

const isLast = ({ type }: Message): boolean => /^(response\.(completed|failed)|error)$/.test(type)

const chatEnd = `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] })}\n\n`

function idOf(message: Message | undefined): string {
  return (message?.response as { readonly id: string } | undefined)?.id ?? ''
}

/** The status and body with which a handshake is refused. */
async function refusal(
  test: Test,
  gateway: TestGateway,
  path: string,
  headers: Readonly<Record<string, string>>,
): Promise<{ readonly status: number; readonly text: string }> {
  const client = await connectRaw(test, gateway.origin)
  const lines = Object.entries({
    host: new URL(gateway.origin).host,
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    ...headers,
  }).map(([name, value]) => `${name}: ${value}\r\n`)
  await client.send(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
  const head = await client.head()
  const { body } = await client.body(head)
  return { status: Number(head.line.split(' ')[1]), text: body.toString() }
}

t.test('a message asks, the events of the stream answer, one response after the other', async t => {
  const { up, connect } = await stage(t)
  up.answer(says('resp_1', 'one'), says('resp_2', 'two'))
  const client = await connect()
  client.create({ instructions: 'Be brief.' })
  const one = ['response.created', 'response.output_text.delta', 'response.completed']
  t.same(await client.types(1), one)
  client.create({ previous_response_id: 'resp_1' })
  t.same(await client.types(2), [...one, ...one])
  const [first, second] = up.requests.items.map(request => request.json())
  t.same(first, { model: 'm', input: 'hi', instructions: 'Be brief.', stream: true })
  t.match(second, { previous_response_id: 'resp_1', stream: true })
  t.equal(up.requests.items[0]?.method, 'POST')
})

t.test('the official client of the protocol talks over it', async t => {
  const { gateway, up } = await stage(t)
  up.answer(says('resp_1', 'hello'), says('resp_2', 'again'))
  const sdk = new OpenAI({ apiKey: gateway.key, baseURL: `${gateway.origin}/v1` })
  const socket = new ResponsesWS(sdk)
  const texts: string[] = []
  for await (const one of socket.stream()) {
    if (one.type === 'open') socket.send({ type: 'response.create', model: 'm', input: 'hi' })
    if (one.type === 'error') throw one.error
    if (one.type === 'close') break
    if (one.type !== 'message') continue
    if (one.message.type === 'response.output_text.delta') texts.push(one.message.delta)
    if (one.message.type !== 'response.completed') continue
    const { id } = one.message.response
    if (id === 'resp_1') socket.send({ type: 'response.create', model: 'm', input: 'more', previous_response_id: id })
    else socket.close()
  }
  t.same(texts, ['hello', 'again'])
})

t.test('requests that come at once are answered in turn', async t => {
  const { up, connect } = await stage(t)
  up.answer(says('resp_1', 'one'), says('resp_2', 'two'), says('resp_3', 'three'))
  const client = await connect()
  for (const stream_id of ['a', undefined, 'c']) client.create({ ...(stream_id && { stream_id }) })
  const one = ['response.created', 'response.output_text.delta', 'response.completed']
  t.same(await client.types(3), [...one, ...one, ...one])
  const ids = client.messages.items.flatMap(one => (one.type === 'response.completed' ? [one.stream_id] : []))
  t.same(ids, ['a', undefined, 'c'], 'events carry the name of the stream that asked')
  t.notOk(JSON.stringify(up.requests.items.map(one => one.json())).includes('stream_id'))
})

t.test('with store: false a conversation lives as long as its connection', async t => {
  const { up, connect } = await stage(t)
  up.answer(says('resp_1', 'one'), says('resp_2', 'two'), says('resp_3', 'three'))
  const client = await connect()
  client.create({ store: false, input: 'first' })
  await client.types(1)
  client.create({ store: false, input: 'second', previous_response_id: 'resp_1' })
  await client.types(2)
  client.create({ store: false, input: 'third', previous_response_id: 'resp_2' })
  await client.types(3)
  const last = up.requests.items[2]?.json() as {
    input: { content: { text: string }[] }[]
    previous_response_id?: string
  }
  t.equal(last.previous_response_id, undefined)
  t.same(
    last.input.map(item => item.content[0]?.text),
    ['first', 'one', 'second', 'two', 'third'],
  )
  const other = await connect()
  other.create({ store: false, previous_response_id: 'resp_3' })
  await other.types(1)
  t.match(other.messages.items[0], { type: 'error', status: 400, error: { code: 'previous_response_not_found' } })
})

t.test('each turn of a connection may refer to further items that were made elsewhere', async t => {
  const { up, connect } = await stage(t, '', undefined, 'resources: { unknown: pass }')
  const TURNS = 34
  up.answer(...Array.from({ length: TURNS }, (_, at) => says(`resp_${at}`, 'yes')))
  const client = await connect()
  for (let at = 0; at < TURNS; at++) {
    const previous = at === 0 ? {} : { previous_response_id: `resp_${at - 1}` }
    client.create({ store: false, input: [{ type: 'item_reference', id: `msg_outside_${at}` }], ...previous })
    await client.types(at + 1)
  }
  t.equal(client.messages.items.filter(({ type }) => type === 'response.completed').length, TURNS)
  t.equal((up.last.json() as { input: unknown[] }).input.length, 2 * TURNS - 1)
})

t.test('it works the same on an upstream of another protocol, kept or not', async t => {
  const up = await startRawUpstream(t)
  const upstream = `{ base: "${up.origin}", speaks: { chat: POST /v1/chat/completions } }`
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams: { up: ${upstream} }\nmodels: { m: up }\n`,
  )
  const socket = new WebSocket(`${gateway.origin.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  })
  t.teardown(() => socket.terminate())
  const client = new Client(socket)
  await once(socket, 'open')
  for (const store of [true, false]) {
    let previous: string | undefined
    for (const [n, word] of ['one', 'two', 'three'].entries()) {
      up.answer(stream([chatEvent(word), chatEnd, DONE]))
      const before = client.messages.items.length
      client.create({ store, input: `ask ${n}`, ...(previous && { previous_response_id: previous }) })
      await client.messages.count(1, one => client.messages.items.indexOf(one) >= before && isLast(one))
      t.equal(client.messages.items.at(-1)?.type, 'response.completed')
      previous = idOf(client.messages.items.at(-1))
    }
    const { messages } = (up.requests.items.at(-1)?.json() ?? {}) as { messages: { role: string; content: unknown }[] }
    t.same(
      messages.map(one => one.role),
      ['user', 'assistant', 'user', 'assistant', 'user'],
      `store: ${store}`,
    )
  }
})

t.test('a turn that fails makes the response that it continues forgotten', async t => {
  const { up, connect } = await stage(t)
  up.answer(says('resp_1', 'one'), json({ error: { message: 'bad tools' } }, { status: 400 }))
  const client = await connect()
  client.create({ store: false })
  await client.types(1)
  client.create({ store: false, previous_response_id: 'resp_1', tools: [] })
  client.create({ store: false, previous_response_id: 'resp_1' })
  await client.types(3)
  t.match(client.messages.items.slice(-2), [
    { type: 'error', status: 400, error: { message: 'bad tools' } },
    { type: 'error', status: 400, error: { code: 'previous_response_not_found', param: 'previous_response_id' } },
  ])
})

t.test('generate: false takes input in without asking anyone', async t => {
  const { up, connect } = await stage(t)
  up.answer(says('resp_1', 'one'))
  const client = await connect()
  client.create({ generate: false, store: false, input: 'known before' })
  t.same(await client.types(1), ['response.created', 'response.completed'])
  t.equal(up.requests.items.length, 0)
  const id = idOf(client.messages.items[1])
  t.match(id, /^resp_[0-9a-f]{32}$/)
  client.create({ store: false, input: 'asked now', previous_response_id: id })
  await client.types(2)
  const sent = up.requests.items[0]?.json() as { input: { content: { text: string }[] }[] }
  t.same(
    sent.input.map(item => item.content[0]?.text),
    ['known before', 'asked now'],
  )
})

t.test('what is wrong with a message is reported in an event, and the connection stays', async t => {
  const { up, connect } = await stage(t)
  up.answer(says('resp_1', 'one'))
  const client = await connect()
  const cases: [string, object][] = [
    ['{', { error: { message: 'The message is not valid JSON.' } }],
    ['[]', { error: { type: 'invalid_request_error' } }],
    ['{"type":"session.update"}', { error: { param: 'type' } }],
    ['{"type":"response.create"}', { error: { param: 'model', code: 'missing_required_parameter' } }],
    ['{"type":"response.create","model":"nobody","input":"x"}', { error: { param: 'model' } }],
    ['{"type":"response.create","model":"m","input":"x","background":true}', { error: { param: 'background' } }],
    ['{"type":"response.create","model":"m","input":"x","stream_id":"a b"}', { error: { param: 'stream_id' } }],
    ['{"type":"response.create","model":"m","model":"n","input":"x"}', { error: { code: 'duplicate_parameter' } }],
  ]
  for (const [text, expected] of cases) {
    client.socket.send(text)
    const all = await client.messages.count(cases.findIndex(([one]) => one === text) + 1)
    t.match(all.at(-1), { type: 'error', status: 400, ...expected }, text)
  }
  t.equal(up.requests.items.length, 0)
  client.create({})
  await client.types(cases.length + 1)
  t.equal(client.messages.items.at(-1)?.type, 'response.completed')
})

t.test('an upstream that breaks off is reported as a failure of the response', async t => {
  const { up, connect } = await stage(t)
  up.answer(
    async peer => {
      await startStream(peer)
      await peer.send(
        chunk(event('response.created', { sequence_number: 0, response: { id: 'resp_1', status: 'in_progress' } })),
      )
      peer.reset()
    },
    says('resp_2', 'two'),
  )
  const client = await connect()
  client.create({})
  await client.messages.find(one => one.type === 'response.failed')
  t.same(
    client.messages.items.map(one => one.type),
    ['response.created', 'error', 'response.failed'],
  )
  client.create({})
  await client.messages.find(one => one.type === 'response.completed')
})

t.test('a client that goes takes its request with it', async t => {
  const { gateway, up, connect } = await stage(t)
  up.answer(async peer => {
    await startStream(peer)
    await hang(peer)
  })
  const client = await connect()
  client.create({})
  await up.requests.count(1)
  client.socket.terminate()
  await up.aborts.count(1)
  const line = await gateway.log.find(one => one.msg === 'request')
  t.match(line, { outcome: 'client_abort', route: 'WS /v1/responses' })
})

t.test('F-A6 anyone who has no key is refused before the handshake', async t => {
  const { gateway, up } = await stage(t)
  const none = await refusal(t, gateway, '/v1/responses', {})
  const wrong = await refusal(t, gateway, '/v1/responses', { authorization: 'Bearer nobody' })
  t.equal(none.status, 401)
  t.same(none, wrong)
  t.match(JSON.parse(none.text), { error: { code: 'invalid_api_key' } })
  t.equal(up.connections.items.length, 0)
})

t.test('F-A6 pages of other origins are refused, declared ones and clients that are not browsers are not', async t => {
  const { gateway, connect } = await stage(t, 'listen: { cors: { origins: ["https://app.example"] } }\n')
  const authorization = `Bearer ${gateway.key}`
  const foreign = await refusal(t, gateway, '/v1/responses', { authorization, origin: 'https://evil.example' })
  t.equal(foreign.status, 403)
  for (const origin of ['https://app.example', gateway.origin]) {
    t.equal((await connect({ headers: { origin } })).socket.readyState, WebSocket.OPEN, origin)
  }
})

t.test('a path without a WebSocket, a wrong handshake and a plain GET are refused in words', async t => {
  const { gateway } = await stage(t)
  const authorization = `Bearer ${gateway.key}`
  t.equal((await refusal(t, gateway, '/v1/nowhere', { authorization })).status, 404)
  t.equal((await refusal(t, gateway, '/v1/embeddings', { authorization })).status, 404)
  t.equal((await refusal(t, gateway, '/v1/responses', { authorization, 'sec-websocket-key': 'short' })).status, 400)
  const plain = await gateway.request('/v1/responses')
  t.equal(plain.status, 426)
  t.equal(plain.header('upgrade'), 'websocket')
})

t.test('a key that is taken away is refused with the next message', async t => {
  const yaml = (key: string): string =>
    `version: 1\nkeys: { caller: { secret: { env: ${key} }, models: ["*"] } }\nupstreams: {}\nmodels: {}\n`
  const gateway = await startTestGateway(t, yaml('CALLER_KEY'), { env: { OTHER: 'another-key-of-some-length' } })
  const socket = new WebSocket(`${gateway.origin.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  })
  t.teardown(() => socket.terminate())
  const client = new Client(socket)
  await once(socket, 'open')
  await gateway.write('gateway.yaml', yaml('OTHER'))
  await gateway.gateway.reload()
  client.create({})
  await client.types(1)
  t.match(client.messages.items[0], { type: 'error', status: 401, error: { code: 'invalid_api_key' } })
})

t.test('messages over the limit, binary ones and floods end the connection with their codes', async t => {
  const { up, connect } = await stage(t, 'limits: { body: 10KiB }\n')
  up.answer(hang)
  const large = await connect()
  large.create({ input: 'x'.repeat(20_000) })
  t.match(await large.closed.find(() => true), { code: 1009 })
  const binary = await connect()
  binary.socket.send(Buffer.from([1, 2]))
  t.match(await binary.closed.find(() => true), { code: 1003 })
  const flood = await connect()
  flood.create({})
  await up.requests.count(1)
  for (let n = 0; n < 30; n++) flood.create({})
  t.match(await flood.closed.find(() => true), { code: 1008 })
  await up.aborts.count(1)
  t.equal(up.requests.items.length, 1, 'one was asked')
})

t.test('draining ends idle connections with 1001 and lets the others have their answer first', async t => {
  const { gateway, up, connect } = await stage(t)
  let release: () => void = () => undefined
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  up.answer(async peer => {
    await startStream(peer)
    await released
    await peer.send(chunk(event('response.created', { sequence_number: 0, response: { id: 'resp_1' } })))
    await peer.send(chunk(event('response.completed', { sequence_number: 1, response: { id: 'resp_1', output: [] } })))
    await peer.send('0\r\n\r\n')
  })
  const [idle, busy] = [await connect(), await connect()]
  busy.create({})
  await up.requests.count(1)
  const closed = gateway.gateway.close()
  t.match(await idle.closed.find(() => true), { code: 1001 })
  release()
  t.match(await busy.closed.find(() => true), { code: 1001 })
  t.equal(busy.messages.items.at(-1)?.type, 'response.completed')
  await closed
})

t.test('a client that reads slowly holds its upstream back and gets everything', async t => {
  const { up, connect } = await stage(t)
  const piece = event('response.output_text.delta', { delta: 'x'.repeat(60_000) })
  up.answer(async peer => {
    await startStream(peer)
    await peer.send(chunk(event('response.created', { response: { id: 'resp_1' } })))
    for (let n = 0; n < 400; n++) await peer.send(chunk(piece))
    await peer.send(chunk(event('response.completed', { response: { id: 'resp_1', output: [] } })))
    await peer.send('0\r\n\r\n')
  })
  const client = await connect()
  client.socket.pause()
  client.create({})
  await up.requests.count(1)
  client.socket.resume()
  await client.types(1)
  t.equal(client.messages.items.length, 402)
})

t.test('a request that would like HTTP/2 is served as it stands', async t => {
  const { gateway, up } = await stage(t)
  up.answer(json({ id: 'resp_1', object: 'response', output: [] }))
  const client = await connectRaw(t, gateway.origin)
  const body = '{"model":"m","input":"hi"}'
  const head = [
    'POST /v1/responses HTTP/1.1',
    `host: ${new URL(gateway.origin).host}`,
    'connection: Upgrade, HTTP2-Settings',
    'upgrade: h2c',
    'http2-settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA',
    `authorization: Bearer ${gateway.key}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ]
  await client.send(`${head.join('\r\n')}\r\n\r\n${body}`, [100, 300])
  const answered = await client.head()
  t.match(answered.line, /^HTTP\/1\.1 200/)
  t.same(JSON.parse((await client.body(answered)).body.toString()), { id: 'resp_1', object: 'response', output: [] })
})

t.test('F-U15 a last event that is not JSON breaks nothing: the next response is answered', async t => {
  const { up, connect } = await stage(t)
  const created = event('response.created', { response: { id: 'resp_1', status: 'in_progress', output: [] } })
  up.answer(stream([created, 'event: response.completed\ndata: {nope}\n\n']), says('resp_2', 'two'))
  const client = await connect()
  const seen: string[] = []
  client.socket.removeAllListeners('message')
  const done = new Promise<void>(resolve => {
    client.socket.on('message', data => {
      seen.push(String(data))
      if (seen.length === 2) client.create({ store: false })
      if (seen.length === 5) resolve()
    })
  })
  client.create({ store: false })
  await inTime(done, () => `only ${seen.length} messages came: ${seen.join('\n')}`)
  t.equal(seen[1], '{nope}', 'as the upstream sent it')
  t.match(seen[4], '"resp_2"')
})

t.test('F-U16 an event that is too large for a message ends its response with an error, and no more', async t => {
  const up = await startRawUpstream(t)
  const yaml = oneUpstream(up.origin, 'store: { type: memory }\n').replace(', responses: POST /v1/responses', '')
  const gateway = await startTestGateway(t, yaml)
  up.answer(
    async peer => {
      await startStream(peer)
      for (let n = 0; n < 34; n++) await peer.send(chunk(chatEvent('x'.repeat(500_000))))
      await peer.send(chunk(chatEnd + DONE))
      await peer.send('0\r\n\r\n')
    },
    stream([chatEvent('two'), chatEnd, DONE]),
  )
  const socket = new WebSocket(`${gateway.origin.replace('http', 'ws')}/v1/responses`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  })
  t.teardown(() => socket.terminate())
  const client = new Client(socket)
  await once(socket, 'open')
  client.create({})
  t.match((await client.messages.count(1, isLast)).at(-1), { type: 'error', status: 502 })
  client.create({})
  t.match((await client.messages.count(2, isLast)).at(-1), { type: 'response.completed' })
})
