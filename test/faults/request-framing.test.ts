import t, { type Test } from 'tap'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError } from '../helpers/expect.js'
import { CHAT, oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import { type Answer, connectRaw } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream, turn } from '../helpers/raw-upstream.js'

const PATH = '/v1/chat/completions'
const BODY = JSON.stringify(CHAT)

async function running(t: Test, more = ''): Promise<{ gateway: TestGateway; upstream: RawUpstream }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  return { upstream, gateway: await startTestGateway(t, oneUpstream(upstream.origin, more)) }
}

/** A request with these header lines instead of the usual framing. */
function framed(gateway: TestGateway, lines: readonly string[], body: string, eol = '\r\n'): string {
  const head = [
    `POST ${PATH} HTTP/1.1`,
    'host: gateway',
    `authorization: Bearer ${gateway.key}`,
    'content-type: application/json',
  ]
  return [...head, ...lines, '', body].join(eol)
}

const LENGTH = `content-length: ${BODY.length}`
const CHUNKED = `${BODY.length.toString(16)}\r\n${BODY}\r\n0\r\n\r\n`

/** Each of these two servers could read in two ways; none may reach the upstream. */
const AMBIGUOUS: readonly (readonly [string, readonly string[], string])[] = [
  ['content-length and transfer-encoding', [LENGTH, 'transfer-encoding: chunked'], CHUNKED],
  ['transfer-encoding and content-length', ['transfer-encoding: chunked', LENGTH], CHUNKED],
  ['two lengths that differ', ['content-length: 5', LENGTH], BODY],
  ['two lengths that agree', [LENGTH, LENGTH], BODY],
  ['a list of lengths', [`content-length: ${BODY.length}, ${BODY.length}`], BODY],
  ['a signed length', [`content-length: +${BODY.length}`], BODY],
  ['a hexadecimal length', ['content-length: 0x40'], BODY],
  ['a length with a space inside', ['content-length: 1 0'], BODY],
  ['an empty length', ['content-length:'], BODY],
  ['a space before the colon', [`content-length : ${BODY.length}`], BODY],
  ['a folded header', [`content-length: ${BODY.length}`, ' x'], BODY],
  ['an unknown coding', ['transfer-encoding: xchunked'], CHUNKED],
  ['identity', ['transfer-encoding: identity', LENGTH], BODY],
  ['chunked not last', ['transfer-encoding: chunked, identity'], CHUNKED],
  ['chunked twice', ['transfer-encoding: chunked', 'transfer-encoding: chunked'], CHUNKED],
  ['a stacked coding', ['transfer-encoding: gzip, chunked'], CHUNKED],
  ['a quoted coding', ['transfer-encoding: "chunked"'], CHUNKED],
  ['a coding with a vertical tab', ['transfer-encoding:\u000bchunked'], CHUNKED],
  ['a NUL in a header', [LENGTH, 'x-a: b\0c'], BODY],
  ['a bare CR in a header', [LENGTH, 'x-a: b\rc: d'], BODY],
  ['a header name with a space', [LENGTH, 'x a: b'], BODY],
  ['a header without a colon', [LENGTH, 'nothing'], BODY],
  ['an empty header name', [LENGTH, ': x'], BODY],
  ['two hosts', [LENGTH, 'host: other'], BODY],
]

for (const [title, lines, body] of AMBIGUOUS) {
  t.test(`F-C9 ${title}: 400 and close, the upstream sees nothing`, async t => {
    const { gateway, upstream } = await running(t)
    const client = await connectRaw(t, gateway.origin)
    await client.send(framed(gateway, lines, body))
    const answer = await client.answer()
    t.equal(answer.status, 400)
    t.ok((answer.json() as { error: unknown }).error, "in the family's shape")
    t.equal(await client.closed(), 'fin')
    t.equal(upstream.requests.items.length, 0)
  })
}

/** Chunk framing that some servers take and others do not. */
const CHUNKS: readonly (readonly [string, string])[] = [
  ['an underscore in a size', `0_${CHUNKED}`],
  ['a sign before a size', `+${CHUNKED}`],
  ['0x before a size', `0x${CHUNKED}`],
  ['a space before a size', ` ${CHUNKED}`],
  ['bare line feeds', CHUNKED.replaceAll('\r\n', '\n')],
  ['no line end after the data', `${BODY.length.toString(16)}\r\n${BODY}0\r\n\r\n`],
  ['a size that overflows', `fffffffffffffffff\r\n${BODY}\r\n0\r\n\r\n`],
  ['a negative size', `-1\r\n${BODY}\r\n0\r\n\r\n`],
]

for (const [title, body] of CHUNKS) {
  t.test(`F-C9 chunks with ${title}: 400 and close, the upstream sees nothing`, async t => {
    const { gateway, upstream } = await running(t)
    const client = await connectRaw(t, gateway.origin)
    await client.send(framed(gateway, ['transfer-encoding: chunked'], body))
    t.equal((await client.answer()).status, 400)
    t.equal(await client.closed(), 'fin')
    t.equal(upstream.requests.items.length, 0)
    t.ok(await gateway.log.find(line => 'parse_error' in line || line.status === 400), 'the log says so')
  })
}

t.test('F-C9 chunk extensions do not reach the upstream', async t => {
  const { gateway, upstream } = await running(t)
  const client = await connectRaw(t, gateway.origin)
  const body = `${BODY.length.toString(16)};ext="a\\"b"\r\n${BODY}\r\n0;last\r\n\r\n`
  await client.send(framed(gateway, ['transfer-encoding: chunked'], body))
  const { status } = await client.answer()
  t.ok([200, 400].includes(status))
  for (const request of upstream.requests.items) t.same(request.json(), CHAT)
})

t.test('F-C9 bare line feeds instead of CR LF are refused', async t => {
  const { gateway, upstream } = await running(t)
  const client = await connectRaw(t, gateway.origin)
  await client.send(framed(gateway, [LENGTH], BODY, '\n'))
  t.equal((await client.answer()).status, 400)
  t.equal(upstream.requests.items.length, 0)
})

t.test('F-C9 a request hidden in a body is never served', async t => {
  const { gateway, upstream } = await running(t)
  const client = await connectRaw(t, gateway.origin)
  const hidden = `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n\r\n`
  await client.send(framed(gateway, ['content-length: 4', 'transfer-encoding: chunked'], `0\r\n\r\n${hidden}`))
  t.equal((await client.answer()).status, 400)
  t.equal(await client.closed(), 'fin')
  t.equal(upstream.requests.items.length, 0)
})

t.test('F-C9 pipelined requests are answered in order', async t => {
  const { gateway } = await running(t)
  const client = await connectRaw(t, gateway.origin)
  const get = (path: string): string =>
    `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n\r\n`
  await client.send(get('/v1/models') + get('/v1/models/none') + get('/v1/models/m'))
  t.same(
    [await client.answer(), await client.answer(), await client.answer()].map(answer => answer.status),
    [200, 404, 200],
  )
})

const BODY_LIMIT = 2048

/** A chat request of exactly this many bytes. */
function ofSize(bytes: number): string {
  const empty = JSON.stringify({ ...CHAT, user: '' })
  return JSON.stringify({ ...CHAT, user: 'x'.repeat(bytes - empty.length) })
}

for (const framing of ['content-length', 'chunked'] as const) {
  for (const [size, status] of [
    [BODY_LIMIT - 1, 200],
    [BODY_LIMIT, 200],
    [BODY_LIMIT + 1, 413],
  ] as const) {
    t.test(`F-C10 a body of ${size} bytes against a limit of ${BODY_LIMIT}, by ${framing}: ${status}`, async t => {
      const { gateway, upstream } = await running(t, `limits: { body: ${BODY_LIMIT} }\n`)
      const client = await connectRaw(t, gateway.origin)
      const body = ofSize(size)
      const chunked = `${size.toString(16)}\r\n${body}\r\n0\r\n\r\n`
      const lines = framing === 'chunked' ? ['transfer-encoding: chunked'] : [`content-length: ${size}`]
      await client.send(framed(gateway, lines, framing === 'chunked' ? chunked : body))
      const answer = await client.answer()
      if (status === 413) compatibleError(t, answer, 413, 'too_large')
      else t.equal(answer.status, 200)
      t.equal(upstream.requests.items.length, status === 200 ? 1 : 0)
      if (status === 413) t.match(await gateway.log.find(line => line.msg === 'request'), { limit: 'body' })
    })
  }
}

t.test('F-C10 a length over the limit is refused before the body is sent', async t => {
  const { gateway } = await running(t)
  const client = await connectRaw(t, gateway.origin)
  await client.send(framed(gateway, ['content-length: 99999999999'], ''))
  compatibleError(t, await client.answer(), 413, 'too_large')
})

t.test('F-C10 an endless chunked body is refused at the limit', async t => {
  const { gateway } = await running(t, `limits: { body: ${BODY_LIMIT} }\n`)
  const client = await connectRaw(t, gateway.origin)
  await client.send(framed(gateway, ['transfer-encoding: chunked'], ''))
  for (let i = 0; i < 64 && client.open; i += 1) {
    await client.send(`400\r\n${' '.repeat(1024)}\r\n`)
    await turn()
  }
  compatibleError(t, await client.answer(), 413, 'too_large')
})

t.test('F-C10 a body shorter than its length waits, and is cut by the upload time-out', async t => {
  const { gateway, upstream } = await running(t, 'limits: { upload: 500ms, headers: 500ms }\n')
  const client = await connectRaw(t, gateway.origin)
  await client.send(framed(gateway, [`content-length: ${BODY.length + 1}`], BODY))
  compatibleError(t, await client.answer(), 408, 'request_timeout')
  await client.closed()
  t.match(await gateway.log.find(line => line.msg === 'request'), { status: 408, phase: 'upload' })
  t.equal(upstream.requests.items.length, 0)
})

/** Answers at a limit of 1 KiB for the target, of 8 headers and 4 KiB for the head. */
async function withSmallHeads(t: Test): Promise<TestGateway> {
  return (await running(t, 'limits: { url: 1KiB, header_bytes: 4KiB, header_count: 8 }\n')).gateway
}

for (const [size, status] of [
  [1023, 404],
  [1024, 404],
  [1025, 414],
] as const) {
  t.test(`F-C10 a target of ${size} bytes against a limit of 1024: ${status}`, async t => {
    const gateway = await withSmallHeads(t)
    const answer = await gateway.request(`/${'x'.repeat(size - 1)}`)
    compatibleError(t, answer, status, status === 414 ? 'url_too_long' : null)
  })
}

for (const [count, status] of [
  [7, 200],
  [8, 200],
  [9, 431],
] as const) {
  t.test(`F-C10 ${count} headers against a limit of 8: ${status}`, async t => {
    const gateway = await withSmallHeads(t)
    const headers = Object.fromEntries(Array.from({ length: count - 2 }, (_, i) => [`x-${i}`, '1']))
    const answer: Answer = await gateway.request('/v1/models', { headers })
    if (status === 431) compatibleError(t, answer, 431, 'headers_too_large')
    else t.equal(answer.status, 200)
  })
}

for (const [size, status] of [
  [4096, 200],
  [4097, 431],
] as const) {
  t.test(`F-C10 header lines of ${size} bytes against a limit of 4 KiB: ${status}`, async t => {
    const gateway = await withSmallHeads(t)
    const lines = [`host: ${new URL(gateway.origin).host}`, `authorization: Bearer ${gateway.key}`, 'x-fill: ']
    const fixed = lines.reduce((sum, line) => sum + line.length + '\r\n'.length, 0)
    const client = await connectRaw(t, gateway.origin)
    await client.send(`GET /v1/models HTTP/1.1\r\n${lines.join('\r\n')}${'x'.repeat(size - fixed)}\r\n\r\n`)
    const answer = await client.answer()
    t.equal(answer.status, status)
    if (status === 431) t.equal(answer.header('x-gateway-error'), 'headers_too_large')
  })
}

t.test(
  'F-C10 header lines of 24,000 bytes against the usual limit of 16 KiB: 431 in the family of the route',
  async t => {
    const { gateway } = await running(t)
    const answer = await gateway.request('/v1/messages', {
      method: 'POST',
      headers: Object.fromEntries(Array.from({ length: 24 }, (_, index) => [`x-long-${index}`, 'x'.repeat(1000)])),
      body: BODY,
    })
    t.equal(answer.status, 431)
    t.match(answer.json(), { type: 'error', error: { type: String, message: /larger than 16384 bytes/ } })
  },
)

t.test('F-C10 headers over their size: 431', async t => {
  const gateway = await withSmallHeads(t)
  const answer = await gateway.request('/v1/models', { headers: { 'x-long': 'x'.repeat(20_000) } })
  t.equal(answer.status, 431)
  t.ok((answer.json() as { error: unknown }).error)
})

t.test('F-C10 Expect: 100-continue is answered when the head is sound, other expectations are 417', async t => {
  const { gateway } = await running(t)
  const client = await connectRaw(t, gateway.origin)
  let interim = ''
  client.socket.on('data', data => {
    interim += data.toString('latin1')
  })
  await client.send(framed(gateway, [LENGTH, 'expect: 100-continue'], ''))
  while (!interim.includes('100 Continue')) await turn()
  await client.send(BODY)
  t.equal((await client.answer()).status, 200)
  const other = await connectRaw(t, gateway.origin)
  await other.send(framed(gateway, [LENGTH, 'expect: the-unexpected'], ''))
  const refusal = await other.answer()
  t.equal(refusal.status, 417)
  t.equal(refusal.header('x-gateway-error'), 'expectation_failed')
})

t.test('F-C9 a request of HTTP/1.1 without a host is 400 in the words of its family', async t => {
  const { gateway, upstream } = await running(t)
  const ask = async (version: string): Promise<Answer> => {
    const client = await connectRaw(t, gateway.origin)
    await client.send(`GET /v1/models HTTP/${version}\r\nauthorization: Bearer ${gateway.key}\r\n\r\n`)
    return client.answer()
  }
  const refusal = await ask('1.1')
  t.equal(refusal.status, 400)
  t.match(refusal.json(), { error: { message: 'The header host is missing.' } })
  t.equal((await ask('1.0')).status, 200)
  t.equal(upstream.connections.items.length, 0)
})

t.test('F-C10 a refused head is never invited to send its body', async t => {
  const { gateway } = await running(t)
  const client = await connectRaw(t, gateway.origin)
  let seen = ''
  client.socket.on('data', data => {
    seen += data.toString('latin1')
  })
  await client.send(
    `POST ${PATH} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${LENGTH}\r\nexpect: 100-continue\r\n\r\n`,
  )
  t.equal((await client.answer()).status, 401)
  t.notMatch(seen, /100 Continue/)
})

t.test('F-C15 another method on a path of ours is 405 with Allow, after the key check', async t => {
  const { gateway, upstream } = await running(t)
  for (const method of ['PUT', 'PATCH', 'DELETE', 'QUERY']) {
    const answer = await gateway.request(PATH, { method })
    compatibleError(t, answer, 405, 'method_not_supported')
    t.match(answer.header('allow'), /POST/)
    compatibleError(t, await gateway.request(PATH, { method, key: 'wrong' }), 401)
  }
  t.equal(upstream.requests.items.length, 0)
})

t.test('F-C15 a content type that is not JSON is 415', async t => {
  const { gateway, upstream } = await running(t)
  for (const type of [
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/jsonx',
    ...['utf-16', 'utf-7', 'unicode_escape', 'hz-gb-2312', 'utf-8; charset=utf-7'].map(
      name => `application/json; charset=${name}`,
    ),
  ])
    compatibleError(t, await gateway.chat({}, { headers: { 'content-type': type } }), 415, 'unsupported_media_type')
  compatibleError(t, await gateway.chat({}, { headers: { 'content-encoding': 'gzip' } }), 415, 'unsupported_media_type')
  t.equal(upstream.requests.items.length, 0)
  for (const name of ['utf-8', '"UTF-8"', 'us-ascii', 'ascii', '""']) {
    const type = `Application/JSON; charset=${name}`
    t.equal((await gateway.chat({}, { headers: { 'content-type': type } })).status, 200)
  }
})

t.test('F-C15 it is never a forward proxy', async t => {
  const { gateway, upstream } = await running(t)
  const trap = await startRawUpstream(t, { host: '127.0.0.3' })
  trap.answer(json({}))
  for (const target of [
    `${trap.origin}/v1/models`,
    `http://127.0.0.3/v1/models`,
    '//127.0.0.3/v1/models',
    '*',
    'v1/models',
  ]) {
    const client = await connectRaw(t, gateway.origin)
    await client.send(`GET ${target} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n\r\n`)
    const { status } = await client.answer()
    t.ok([400, 404].includes(status), `${target}: ${status}`)
  }
  const client = await connectRaw(t, gateway.origin)
  await client.send(`CONNECT 127.0.0.3:${trap.port} HTTP/1.1\r\nhost: 127.0.0.3:${trap.port}\r\n\r\n`)
  t.ok([400, 405].includes((await client.answer()).status))
  t.equal(trap.connections.items.length, 0)
  t.equal(upstream.connections.items.length, 0)
})

t.test('F-C15 an upgrade is not followed', async t => {
  const { gateway } = await running(t)
  const client = await connectRaw(t, gateway.origin)
  await client.send(
    `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\nconnection: upgrade, http2-settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n`,
  )
  t.not((await client.answer()).status, 101)
})

t.test('F-C15 a request that comes with one whose upgrade is not followed is served, too', async t => {
  const { gateway } = await running(t)
  const client = await connectRaw(t, gateway.origin)
  const get = (path: string, lines: string): string =>
    `GET ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${gateway.key}\r\n${lines}\r\n`
  await client.send(
    get('/v1/models', 'connection: upgrade\r\nupgrade: h2c\r\n') + get('/v1/none', 'connection: close\r\n'),
  )
  t.equal((await client.answer()).status, 200)
  t.equal((await client.answer()).status, 404)
})

for (const upgrade of ['websocket', 'h2c']) {
  t.test(`F-C15 an upgrade to ${upgrade} with a body that comes later is a plain request`, async t => {
    const { gateway } = await running(t)
    const client = await connectRaw(t, gateway.origin)
    const head = [
      'GET /v1/models HTTP/1.1',
      'host: x',
      `authorization: Bearer ${gateway.key}`,
      'connection: upgrade',
      `upgrade: ${upgrade}`,
      'sec-websocket-version: 13',
      'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
      'content-length: 4',
    ].join('\r\n')
    await client.send(`${head}\r\n\r\nbody`, [20, head.length + 4, head.length + 6])
    t.equal((await client.answer()).status, 200)
    t.equal((await gateway.request('/livez')).status, 200)
  })
}

t.test('F-C15 TRACE is refused', async t => {
  const { gateway } = await running(t)
  const answer = await gateway.request('/v1/models', { method: 'TRACE' })
  t.equal(answer.status, 405)
  t.notMatch(answer.text, /Bearer/)
})

proveNoLeak(t)
