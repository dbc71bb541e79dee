import { randomBytes } from 'node:crypto'
import type { Socket } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { body, CHAT_ANSWER, finish, hang, head, json, reset } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { fastClock } from '../helpers/fast-clock.js'
import { untilHeld } from '../helpers/forms.js'
import { startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { inTime } from '../helpers/journal.js'
import { type Answer, connectRaw } from '../helpers/raw-client.js'
import { type RawUpstream, type Script, startRawUpstream, type UpstreamOptions } from '../helpers/raw-upstream.js'

// What can go wrong with files, between clients and upstreams that obey byte by byte.

const BOB = 'bob-secret-key-of-some-length'
const EVE = 'eve-secret-key-of-some-length'
const KEYS = `keys:
  ann: { secret: { env: CALLER_KEY } }
  bob: { secret: { env: BOB_KEY } }
  eve: { secret: { env: EVE_KEY }, models: [only-b] }
`

const SPEAKS = [
  'chat: POST /v1/chat/completions',
  'files: POST /v1/files',
  'files.retrieve: "GET /v1/files/{id}"',
  'files.delete: "DELETE /v1/files/{id}"',
  'files.content: "GET /v1/files/{id}/content"',
  'batches: POST /v1/batches',
  'batches.retrieve: "GET /v1/batches/{id}"',
  'batches.cancel: "POST /v1/batches/{id}/cancel"',
  'responses: POST /v1/responses',
  'videos: POST /v1/videos',
]

function upstreamYaml(origin: string, more = ''): string {
  const credential = '{ in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_KEY } }'
  return `{ base: "${origin}", credential: ${credential}, speaks: { ${SPEAKS.join(', ')} }${more} }`
}

interface Stage {
  readonly gateway: TestGateway
  readonly a: RawUpstream
  readonly b: RawUpstream
}

/** Two upstreams: `m` is on both, `only-b` on the second. */
async function stage(t: Test, more = '', options: UpstreamOptions = {}, upstream = ''): Promise<Stage> {
  const [a, b] = [await startRawUpstream(t, options), await startRawUpstream(t, options)]
  const gateway = await startTestGateway(
    t,
    `version: 1\n${KEYS}upstreams:\n  a: ${upstreamYaml(a.origin, upstream)}\n  b: ${upstreamYaml(b.origin, upstream)}\nmodels: { m: [a, b], only-b: b }\n${more}`,
    { env: { BOB_KEY: BOB, EVE_KEY: EVE } },
  )
  return { gateway, a, b }
}

const FORM = { 'content-type': 'multipart/form-data; boundary=x' }

function form(content: string | Uint8Array, filename = 'a.txt'): Buffer {
  const start = `--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="${filename}"\r\ncontent-type: text/plain\r\n\r\n`
  return Buffer.concat([Buffer.from(start), Buffer.from(content), Buffer.from('\r\n--x--\r\n')])
}

const object = (id: string, more: object = {}): object => ({
  id,
  object: 'file',
  bytes: 1,
  created_at: 1,
  filename: 'a.txt',
  purpose: 'user_data',
  status: 'processed',
  ...more,
})

const uploaded = (id: string): Script => json(object(id))

const post = (
  gateway: TestGateway,
  key = gateway.key,
  more: Readonly<Record<string, string>> = {},
  path = '/v1/files',
) => gateway.request(path, { key, body: form('hello'), headers: { ...FORM, ...more } })

const heard = ({ a, b }: Pick<Stage, 'a' | 'b'>): number => a.requests.items.length + b.requests.items.length

t.test('an upload reaches the upstream byte for byte, with its length and the upstream’s own credential', async t => {
  const { gateway, a } = await stage(t)
  a.answer(uploaded('file-1'))
  const bytes = form(randomBytes(300_000), 'naïve "name".bin')
  const answer = await gateway.request('/v1/files', { body: bytes, headers: FORM, cuts: [10, 1000, 100_000] })
  t.same(answer.json(), object('file-1'))
  const [request] = a.requests.items
  t.ok(request?.body.equals(bytes))
  t.equal(request?.header('content-length'), String(bytes.length))
  t.equal(request?.header('transfer-encoding'), undefined)
  t.equal(request?.header('content-type'), FORM['content-type'])
  t.not(request?.header('authorization'), `Bearer ${gateway.key}`)
})

t.test('an upload of unknown length continues in chunks', async t => {
  const { gateway, a } = await stage(t)
  a.answer(uploaded('file-1'))
  const client = await connectRaw(t, gateway.origin)
  const bytes = form('hello')
  const fields = { ...FORM, authorization: `Bearer ${gateway.key}`, host: 'x', 'transfer-encoding': 'chunked' }
  await client.send(`POST /v1/files HTTP/1.1\r\n${lines(fields)}\r\n`)
  await client.send(
    Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n0\r\n\r\n')]),
  )
  t.equal((await client.answer()).status, 200)
  t.ok(a.requests.items[0]?.body.equals(bytes))
})

function lines(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
}

t.test('the first upstream of the file holds new files, unless the request names a model', async t => {
  const { gateway, a, b } = await stage(t)
  a.answer(uploaded('file-a'))
  b.answer(uploaded('file-b'))
  t.match((await post(gateway)).json(), { id: 'file-a' })
  t.match((await post(gateway, gateway.key, { 'x-gateway-model': 'only-b' })).json(), { id: 'file-b' })
  t.match((await post(gateway, gateway.key, {}, '/v1/files?model=only-b&beta=true')).json(), { id: 'file-b' })
  t.equal(b.requests.items.at(-1)?.target, '/v1/files?beta=true', 'the hint goes no further')
  t.match((await post(gateway, EVE)).json(), { id: 'file-b' }, 'a key’s own models lead there')
  const answer = await post(gateway, EVE, { 'x-gateway-model': 'm' })
  compatibleError(t, answer, 404, 'model_not_found')
  compatibleError(t, await post(gateway, gateway.key, { 'x-gateway-model': 'none' }), 404, 'model_not_found')
})

t.test('whatever names a file goes to the upstream that has it', async t => {
  const { gateway, a, b } = await stage(t)
  const refused = json({ error: { message: 'Not today.', type: 'invalid_request_error' } }, { status: 400 })
  b.answer(uploaded('file-b'), json(CHAT_ANSWER), json({ id: 'resp_1', object: 'response', output: [] }), refused)
  await post(gateway, gateway.key, { 'x-gateway-model': 'only-b' })
  const content = [{ type: 'file', file: { file_id: 'file-b' } }]
  t.equal((await gateway.chat({ model: 'm', messages: [{ role: 'user', content }] })).status, 200)
  const input = [{ role: 'user', content: [{ type: 'input_file', file_id: 'file-b' }] }]
  t.equal((await gateway.request('/v1/responses', { body: { model: 'm', input } })).status, 200)
  const film = { model: 'm', prompt: 'x', input_reference: { file_id: 'file-b' } }
  t.match((await gateway.request('/v1/videos', { body: film })).json(), { error: { message: 'Not today.' } })
  t.equal(a.requests.items.length, 0)
  t.same(
    b.requests.items.map(one => one.target),
    ['/v1/files', '/v1/chat/completions', '/v1/responses', '/v1/videos'],
  )
})

t.test('files of two upstreams cannot be read by one request', async t => {
  const { gateway, a, b } = await stage(t)
  a.answer(uploaded('file-a'))
  b.answer(uploaded('file-b'))
  await post(gateway)
  await post(gateway, gateway.key, { 'x-gateway-model': 'only-b' })
  const ask = (ids: readonly string[], model: string): Promise<Answer> =>
    gateway.chat({
      model,
      messages: [{ role: 'user', content: ids.map(id => ({ type: 'file', file: { file_id: id } })) }],
    })
  compatibleError(t, await ask(['file-a', 'file-b'], 'm'), 400)
  compatibleError(t, await ask(['file-a'], 'only-b'), 400)
  t.equal(heard({ a, b }), 2, 'no upstream heard of either')
})

/** A 404 without what differs from request to request. */
const bare = ({ status, text }: Answer, id: string): readonly unknown[] => [status, text.replaceAll(id, 'ID')]

t.test(
  'F-A4 what another caller has and what does not exist are refused alike, and no upstream hears of it',
  async t => {
    const { gateway, a, b } = await stage(t)
    a.answer(
      uploaded('file-ann'),
      json({ id: 'batch_ann', object: 'batch', status: 'validating', input_file_id: 'file-ann' }),
    )
    await post(gateway)
    const create = { endpoint: '/v1/chat/completions', completion_window: '24h' }
    await gateway.request('/v1/batches', { body: { ...create, input_file_id: 'file-ann' } })
    const before = heard({ a, b })
    t.equal(before, 2)
    const chat = (id: string) => ({
      body: { model: 'm', messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: id } }] }] },
    })
    const asks: readonly (readonly [string, string, (id: string) => readonly [string, object]])[] = [
      ['file-ann', 'file-non', id => [`/v1/files/${id}`, {}]],
      ['file-ann', 'file-non', id => [`/v1/files/${id}`, { method: 'DELETE' }]],
      ['file-ann', 'file-non', id => [`/v1/files/${id}/content`, {}]],
      ['file-ann', 'file-non', id => ['/v1/batches', { body: { ...create, input_file_id: id } }]],
      ['batch_ann', 'batch_non', id => [`/v1/batches/${id}`, {}]],
      ['batch_ann', 'batch_non', id => [`/v1/batches/${id}/cancel`, { method: 'POST' }]],
      ['file-ann', 'file-non', id => ['/v1/chat/completions', chat(id)]],
      [
        'file-ann',
        'file-non',
        id => ['/v1/videos', { body: { model: 'm', prompt: 'x', input_reference: { file_id: id } } }],
      ],
      [
        'file-ann',
        'file-non',
        id => [
          '/v1/responses',
          { body: { model: 'm', input: [{ role: 'user', content: [{ type: 'input_image', file_id: id }] }] } },
        ],
      ],
      [
        'file-ann',
        'file-non',
        id => [
          '/v1/responses',
          {
            body: {
              model: 'm',
              input: 'x',
              tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids: [id] } }],
            },
          },
        ],
      ],
    ]
    for (const [theirs, none, ask] of asks) {
      const [foreign, unknown] = [ask(theirs), ask(none)]
      const one = await gateway.request(foreign[0], { key: BOB, ...foreign[1] })
      const other = await gateway.request(unknown[0], { key: BOB, ...unknown[1] })
      t.equal(one.status, 404, foreign[0])
      t.same(bare(one, theirs), bare(other, none))
    }
    t.equal(heard({ a, b }), before)
  },
)

t.test('F-A4 forms name files as JSON does, however a library writes the member of an object', async t => {
  const { gateway, a, b } = await stage(t)
  a.answer(uploaded('file-ann'))
  await post(gateway)
  const ask = (path: string, field: string, key: string): Promise<Answer> => {
    const parts = Object.entries({ model: 'm', prompt: 'x', [field]: 'file-ann' }).map(
      ([name, value]) => `--x\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`,
    )
    return gateway.request(path, { key, headers: FORM, body: `${parts.join('')}--x--\r\n` })
  }
  const fields = ['input_reference[file_id]', 'input_reference.file_id', "input_reference['file_id']"]
  for (const field of fields) compatibleError(t, await ask('/v1/videos', field, BOB), 404)
  t.equal(heard({ a, b }), 1, 'no upstream heard of it')
  a.answer(json({ error: { message: 'Not today.', type: 'invalid_request_error' } }, { status: 400 }))
  t.match((await ask('/v1/videos', 'input_reference[file_id]', gateway.key)).json(), {
    error: { message: 'Not today.' },
  })
  t.match(a.requests.items.at(-1)?.body.toString(), 'input_reference[file_id]', 'and it passes as it was written')
})

t.test('a file’s name cannot be hidden: escapes, and members that occur twice', async t => {
  const { gateway, a, b } = await stage(t)
  a.answer(uploaded('file-ann'))
  b.answer(uploaded('file-bob'))
  await post(gateway)
  await post(gateway, BOB, { 'x-gateway-model': 'only-b' })
  const before = heard({ a, b })
  const hidden = [
    '{"file\\u005fid":"file-ann"}',
    '{"f\\u0069le_id":"file-\\u0061nn"}',
    '{"file_id":"file-ann","file_id":"file-bob"}',
    '{"file_id":"file-bob","file_id":"file-ann"}',
  ]
  for (const file of hidden) {
    const body = `{"model":"m","messages":[{"role":"user","content":[{"type":"file","file":${file}}]}]}`
    const answer = await gateway.request('/v1/chat/completions', { key: BOB, body })
    t.equal(answer.status, 404, file)
  }
  t.equal(heard({ a, b }), before)
})

t.test('F-C14 ids that climb lead nowhere', async t => {
  const { gateway, a, b } = await stage(t)
  const climbs = [
    '..',
    '.',
    '%2e%2e',
    '..%2fmodels',
    '..%5cmodels',
    'a%2f..%2fb',
    '%00',
    'a%0d%0ab',
    'a%20b',
    '%252e%252e',
    'é',
    'x'.repeat(300),
  ]
  for (const id of climbs) {
    for (const path of [
      `/v1/files/${encodeURI(id).replaceAll('%25', '%')}`,
      `/v1/files/${encodeURI(id).replaceAll('%25', '%')}/content`,
    ]) {
      const { status } = await gateway.request(path)
      t.ok(status === 404 || status === 400, `${path}: ${status}`)
    }
  }
  t.equal(heard({ a, b }), 0)
})

t.test('F-C14 an id goes up encoded, whatever an upstream calls its files', async t => {
  const { gateway, a } = await stage(t)
  a.answer(uploaded('file/../x?y#z%'), json(object('file/../x?y#z%')))
  await post(gateway)
  const answer = await gateway.request(`/v1/files/${encodeURIComponent('file/../x?y#z%')}`)
  t.ok(answer.status === 400 || a.requests.items.at(-1)?.target === '/v1/files/file%2F..%2Fx%3Fy%23z%25')
})

/** How often an upload is broken off; ABORTS says another number, for a long run. */
const ABORTS = Number(process.env.ABORTS ?? 40)

t.test('F-M2 uploads that break off half-way: their upstream hears of it, and nothing stays open', async t => {
  const upstream = await startRawUpstream(t, { read: 'head' })
  upstream.answer(peer => peer.gone())
  const speaks = upstreamYaml(upstream.origin).replace(
    'speaks: {',
    'speaks: { native-files: POST /upload/v1beta/files,',
  )
  const yaml = `version: 1\n${KEYS}upstreams: { a: ${speaks} }\nmodels: { m: a }\nspool: { path: ./spool }\n`
  const gateway = await startTestGateway(t, yaml, { env: { BOB_KEY: BOB, EVE_KEY: EVE } })
  const half = Buffer.alloc(1024 * 1024, 0x61)
  const before = openSockets()
  for (let round = 0; round < ABORTS; round += 1) {
    const client = await connectRaw(t, gateway.origin)
    const fields = {
      ...FORM,
      host: 'x',
      authorization: `Bearer ${gateway.key}`,
      'content-length': `${2 * half.length}`,
    }
    const path = round % 2 === 0 ? '/v1/files' : '/upload/v1beta/files'
    await client.send(`POST ${path} HTTP/1.1\r\n${lines(fields)}\r\n`)
    // Some go as soon as the upstream has heard of them, some when half of the body is on its way.
    await client.send(round % 4 < 2 ? half : half.subarray(0, 1000))
    await upstream.requests.count(round + 1)
    if (round % 3 === 0) client.socket.resetAndDestroy()
    else client.socket.destroy()
    await upstream.closes.count(round + 1)
  }
  const settled = await gateway.log.count(ABORTS, line => line.msg === 'request')
  for (const line of settled) t.match(line, { status: 499, outcome: 'client_abort' })
  t.equal(upstream.connections.items.filter(socket => !socket.destroyed).length, 0, 'no connection to the upstream')
  t.same(await untilHeld(join(gateway.folder, 'spool'), false), [], 'no file')
  await until(
    () => openSockets() <= before,
    () => `${openSockets()} sockets are open, ${before} were`,
  )
  t.match((await gateway.request('/v1/files')).json(), { data: [] }, 'no other key has a file of them')
  upstream.answer(uploaded('file-1'))
  t.equal((await post(gateway)).status, 200, 'and the next one arrives')
})

/** TCP connections of this process, of clients, gateway and upstreams alike. */
function openSockets(): number {
  return process.getActiveResourcesInfo().filter(name => name === 'TCPSocketWrap').length
}

/** Looks at every turn of the event loop whether it is so; rejects where it never is. */
async function until(isSo: () => boolean, message: () => string): Promise<void> {
  let isOver = false
  const watch = async (): Promise<void> => {
    while (!isOver && !isSo()) await new Promise(setImmediate)
  }
  await inTime(watch(), message).finally(() => {
    isOver = true
  })
}

const UPLOAD = { ...FORM, host: 'x', 'content-length': `${1024 * 1024 * 1024}` }

t.test('F-U22 an upstream that does not read holds the client back: little is taken in', async t => {
  const { gateway } = await stage(t, 'timeouts: { first_byte: 1s }\n', { read: 'never' })
  const client = await connectRaw(t, gateway.origin)
  const { socket } = client
  const fields = lines({ ...UPLOAD, authorization: `Bearer ${gateway.key}` })
  socket.write(`POST /v1/files HTTP/1.1\r\n${fields}\r\n`)
  const before = process.memoryUsage().arrayBuffers
  const stop = pump(socket)
  const answer = await client.answer()
  const grown = process.memoryUsage().arrayBuffers - before
  stop()
  compatibleError(t, answer, 504)
  t.ok(grown < 8 * 1024 * 1024, `${grown} bytes of it were in memory`)
  // What is in the kernel's buffers of two connections, and what the gateway itself holds.
  const taken = socket.bytesWritten - socket.writableLength
  t.ok(taken < 32 * 1024 * 1024, `${taken} bytes were taken in`)
})

t.test('a client that does not continue its upload gets an error', async t => {
  const { gateway, a } = await stage(t, 'timeouts: { first_byte: 1s }\n', { read: 'head' })
  a.answer(peer => peer.gone())
  const client = await connectRaw(t, gateway.origin)
  const fields = lines({ ...UPLOAD, authorization: `Bearer ${gateway.key}` })
  await client.send(`POST /v1/files HTTP/1.1\r\n${fields}\r\n--x\r\n`)
  compatibleError(t, await client.answer(), 408)
  await a.closes.count(1)
})

/** Sends without end, as fast as the other side takes it; what it gives stops that. */
function pump(socket: Socket): () => void {
  const piece = Buffer.alloc(64 * 1024, 0x61)
  const write = (): void => {
    while (!socket.destroyed && socket.write(piece));
  }
  socket.on('drain', write)
  write()
  return () => socket.off('drain', write)
}

for (const [status, seen] of [
  [200, 200],
  [400, 400],
  [401, 502], // our own credential: nothing that the client could mend
  [413, 413],
  [429, 429],
] as const)
  t.test(`F-U23 a ${status} before the upload has ended: passed on at once, and the rest is not read`, async t => {
    const { gateway, a } = await stage(t, 'retry: { attempts: 1 }\n', { read: 'head' })
    const error = { message: 'too big', type: 'invalid_request_error', param: null, code: null }
    a.answer(async peer => {
      await json(status === 200 ? object('file-1') : { error }, { status })(peer)
      await peer.gone()
    })
    const client = await connectRaw(t, gateway.origin)
    const fields = lines({ ...UPLOAD, authorization: `Bearer ${gateway.key}` })
    client.socket.write(`POST /v1/files HTTP/1.1\r\n${fields}\r\n--x\r\n`)
    const stop = pump(client.socket)
    const answer = await client.answer()
    t.equal(answer.status, seen)
    t.equal(answer.header('connection'), 'close')
    // The client continues sending: no one reads it, and its connection ends.
    await client.closed()
    stop()
    await a.closes.count(1)
    const taken = client.socket.bytesWritten - client.socket.writableLength
    t.ok(taken < 64 * 1024 * 1024, `${taken} bytes of a gibibyte were taken in`)
    const line = await gateway.log.find(one => one.msg === 'request')
    t.match(line, { status: seen, early_response: true })
    a.answer(uploaded('file-2'))
    t.match((await post(gateway)).json(), { id: 'file-2' }, 'the next one goes over a connection of its own')
    t.equal(a.connections.items.length, 2)
  })

for (const [status, path, more] of [
  [401, '/v1/files', { authorization: 'Bearer wrong' }],
  [404, '/v1/files', { 'x-gateway-model': 'none' }],
  [404, '/v1/none', {}],
  [413, '/v1/chat/completions', { 'content-type': 'application/json' }],
] as const)
  t.test(`F-U23 a ${status} of the gateway’s own on ${path} reaches a client that goes on sending`, async t => {
    const { gateway, a, b } = await stage(t)
    const client = await connectRaw(t, gateway.origin)
    const fields = lines({ ...UPLOAD, authorization: `Bearer ${gateway.key}`, ...more })
    client.socket.write(`POST ${path} HTTP/1.1\r\n${fields}\r\n--x\r\n`)
    const stop = pump(client.socket)
    compatibleError(t, await client.answer(), status)
    await client.closed()
    stop()
    t.equal(heard({ a, b }), 0)
  })

t.test('F-U23 an answer before the upload has ended reaches the client at once', async t => {
  const { gateway, a } = await stage(t, '', { read: 'head' })
  a.answer(async peer => {
    const text = JSON.stringify({
      error: { message: 'too big', type: 'invalid_request_error', param: null, code: null },
    })
    await peer.send(`${head(413, { 'content-type': 'application/json', 'content-length': `${text.length}` })}${text}`)
    await peer.gone()
  })
  const client = await connectRaw(t, gateway.origin)
  const fields = { ...FORM, authorization: `Bearer ${gateway.key}`, host: 'x', 'content-length': '100000000' }
  await client.send(`POST /v1/files HTTP/1.1\r\n${lines(fields)}\r\n--x\r\n`)
  const answer = await client.answer()
  t.equal(answer.status, 413)
  t.match(answer.json(), { error: { message: 'too big' } })
  t.equal(answer.header('connection'), 'close')
  client.socket.end()
  await client.closed()
})

t.test('a body over the limit is refused, declared or not, and is not left at the upstream', async t => {
  const { gateway, a, b } = await stage(
    t,
    'routes:\n  POST /v1/files: { protocol: files, resource: { kind: file, action: create }, limits: { body: 100KiB } }\n',
    { read: 'head' },
  )
  a.answer(peer => peer.gone())
  compatibleError(t, await gateway.request('/v1/files', { body: Buffer.alloc(102_401), headers: FORM }), 413)
  t.equal(heard({ a, b }), 0)
  const client = await connectRaw(t, gateway.origin)
  const fields = { ...FORM, authorization: `Bearer ${gateway.key}`, host: 'x', 'transfer-encoding': 'chunked' }
  await client.send(`POST /v1/files HTTP/1.1\r\n${lines(fields)}\r\n`)
  const chunk = Buffer.concat([Buffer.from('c800\r\n'), Buffer.alloc(51_200), Buffer.from('\r\n')])
  for (let at = 0; at < 3; at++) await client.send(chunk)
  compatibleError(t, await client.answer(), 413)
  await a.closes.count(1)
})

t.test('a client that goes away in its upload takes the upstream’s request with it', async t => {
  const { gateway, a } = await stage(t, '', { read: 'head' })
  a.answer(peer => peer.gone())
  const client = await connectRaw(t, gateway.origin)
  const fields = { ...FORM, authorization: `Bearer ${gateway.key}`, host: 'x', 'content-length': '1000000' }
  await client.send(`POST /v1/files HTTP/1.1\r\n${lines(fields)}\r\n--x\r\n`)
  await a.requests.count(1)
  client.socket.destroy()
  await a.closes.count(1)
  t.match(await gateway.log.find(line => line.route === 'POST /v1/files'), { status: 499 })
  t.same(((await gateway.request('/v1/files')).json() as { data: unknown[] }).data, [])
})

t.test('F-U21 a download that is redirected is not followed', async t => {
  const elsewhere = await startRawUpstream(t, { host: '127.0.0.3' })
  const { gateway, a } = await stage(t)
  const redirect: Script = peer =>
    peer.send(head(302, { location: `${elsewhere.origin}/secret`, 'content-length': '0' }))
  a.answer(uploaded('file-1'), redirect)
  await post(gateway)
  compatibleError(t, await gateway.request('/v1/files/file-1/content'), 502)
  t.equal(elsewhere.connections.items.length, 0)
})

t.test('a download passes unchanged, whole or in part, regardless of its type', async t => {
  const { gateway, a } = await stage(t)
  const data = randomBytes(200_000)
  const part: Script = peer =>
    peer.send(
      Buffer.concat([
        Buffer.from(
          head(206, {
            'content-type': 'application/json',
            'content-range': 'bytes 0-9/200000',
            'content-length': '10',
          }),
        ),
        data.subarray(0, 10),
      ]),
    )
  const whole =
    (type: string): Script =>
    peer =>
      peer.send(Buffer.concat([Buffer.from(head(200, { 'content-type': type, 'content-length': '200000' })), data]))
  a.answer(uploaded('file-1'), whole('application/json'), whole('text/event-stream'), part)
  await post(gateway)
  for (const type of ['application/json', 'text/event-stream']) {
    const answer = await gateway.request('/v1/files/file-1/content')
    t.equal(answer.header('content-type'), type)
    t.ok(answer.body.equals(data))
  }
  const answer = await gateway.request('/v1/files/file-1/content', { headers: { range: 'bytes=0-9' } })
  t.equal(a.requests.items.at(-1)?.header('range'), 'bytes=0-9')
  t.equal(answer.status, 206)
  t.equal(answer.header('content-range'), 'bytes 0-9/200000')
  t.ok(answer.body.equals(data.subarray(0, 10)))
})

t.test('a download that breaks off is not taken for whole', async t => {
  const { gateway, a } = await stage(t)
  a.answer(uploaded('file-1'), async peer => {
    await peer.send(`${head(200, { 'content-type': 'text/plain', 'content-length': '100' })}half`)
    await finish(peer)
  })
  await post(gateway)
  const answer = await gateway.request('/v1/files/file-1/content')
  t.equal(answer.whole, false)
})

t.test('what an upstream calls a file has to be JSON with an id', async t => {
  const { gateway, a } = await stage(t)
  const text: Script = peer => peer.send(`${head(200, { 'content-type': 'text/plain', 'content-length': '2' })}ok`)
  a.answer(text)
  compatibleError(t, await post(gateway), 502)
})

t.test('an answer that no one could read is not passed on', async t => {
  const { gateway, a } = await stage(t)
  a.answer(body(gzipSync(JSON.stringify(object('file-1'))), { headers: { 'content-encoding': 'gzip' } }))
  compatibleError(t, await post(gateway, gateway.key, { 'accept-encoding': 'gzip' }), 502)
})

t.test('a batch is not made twice: nothing is sent again once it may have arrived', async t => {
  const { gateway, a } = await stage(t)
  a.answer(uploaded('file-1'), reset, json({ id: 'batch_1', object: 'batch' }))
  await post(gateway)
  const create = { input_file_id: 'file-1', endpoint: '/v1/chat/completions', completion_window: '24h' }
  compatibleError(t, await gateway.request('/v1/batches', { body: create }), 502)
  t.equal(a.requests.items.length, 2)
})

t.test('lists leave out a file that its upstream has lost, and one that was deleted', async t => {
  const { gateway, a } = await stage(t)
  const gone = json({ error: { message: 'gone', type: 'x', param: null, code: null } }, { status: 404 })
  a.answer(uploaded('file-1'), gone, uploaded('file-2'), json({ id: 'file-2', object: 'file', deleted: true }))
  await post(gateway)
  t.equal((await gateway.request('/v1/files/file-1')).status, 404)
  await post(gateway)
  t.equal((await gateway.request('/v1/files/file-2', { method: 'DELETE' })).status, 200)
  t.same(((await gateway.request('/v1/files')).json() as { data: unknown[] }).data, [])
})

t.test('an answer about a file never makes another file one’s own', async t => {
  const { gateway, a } = await stage(t)
  a.answer(uploaded('file-1'), uploaded('file-2'))
  await post(gateway)
  t.equal((await gateway.request('/v1/files/file-1')).status, 200)
  t.equal((await gateway.request('/v1/files/file-2')).status, 404)
})

t.test('a key that may use some models only runs no batches', async t => {
  const { gateway, b } = await stage(t)
  b.answer(uploaded('file-1'))
  await post(gateway, EVE)
  const body = { input_file_id: 'file-1', endpoint: '/v1/chat/completions', completion_window: '24h' }
  compatibleError(t, await gateway.request('/v1/batches', { key: EVE, body }), 403)
  t.equal(b.requests.items.length, 1)
})

t.test('a list refuses what it does not understand', async t => {
  const { gateway } = await stage(t)
  for (const query of ['limit=0', 'limit=x', 'order=up', 'after=file-none']) {
    compatibleError(t, await gateway.request(`/v1/files?${query}`), 400)
  }
})

t.test('an upstream that is switched off serves no one, and its files are still one’s own', async t => {
  const { gateway, a } = await stage(t)
  a.answer(uploaded('file-1'))
  await post(gateway)
  const yaml = `version: 1\n${KEYS}upstreams:\n  a: ${upstreamYaml(a.origin, ', disabled: true')}\nmodels: { m: a, only-b: a }\n`
  await gateway.write('gateway.yaml', yaml)
  await gateway.gateway.reload()
  compatibleError(t, await gateway.request('/v1/files/file-1'), 503)
  t.equal((await gateway.request('/v1/files/file-1', { key: BOB })).status, 404)
  t.match((await gateway.request('/v1/files')).json(), { data: [{ id: 'file-1' }] })
})

proveNoLeak(t)

/** A batch has made two files, and their upstream says nothing any more. */
async function silent(t: Test): Promise<Stage> {
  const all = await stage(t)
  const { gateway, a } = all
  a.answer(uploaded('file-1'))
  await post(gateway)
  a.answer(json({ id: 'batch_1', object: 'batch', output_file_id: 'file-2', error_file_id: 'file-3' }), hang)
  const batch = { input_file_id: 'file-1', endpoint: '/v1/chat/completions', completion_window: '24h' }
  t.equal((await gateway.request('/v1/batches', { body: batch })).status, 200)
  return all
}

t.test('F-U3 a list does not wait for an upstream that says nothing: it tells what is known', async t => {
  const { gateway, a } = await silent(t)
  const client = await gateway.open('/v1/files')
  await a.requests.count(4)
  fastClock(t)
  const answer = await client.answer()
  t.equal(answer.status, 200)
  const { data } = answer.json() as { readonly data: readonly { readonly id: string }[] }
  t.same(data.map(({ id }) => id).sort(), ['file-1', 'file-2', 'file-3'])
  await a.aborts.count(2)
})

t.test('F-C1 a client that leaves a list takes with it what was asked for the list', async t => {
  const { gateway, a } = await silent(t)
  const client = await gateway.open('/v1/files')
  await a.requests.count(4)
  client.socket.end()
  await a.aborts.count(2)
  t.equal(a.requests.items.length, 4)
})

t.test('F-U13 an answer that is nested too deeply is not a file', async t => {
  const { gateway, a } = await stage(t)
  const deep = `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`
  a.answer(body(`{"id":"file-1","object":"file","x":${deep}}`))
  compatibleError(t, await post(gateway), 502, 'bad_upstream_response')
})
