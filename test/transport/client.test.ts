import t, { type Test } from 'tap'
import { ClientPool } from '../../src/transport/client/pool.js'
import { hangingOrigin, refusingOrigin } from '../helpers/hanging-port.js'
import { type RawUpstream, type Script, startRawUpstream, turn } from '../helpers/raw-upstream.js'
import { type Asked, ask, begin } from './heard.js'

const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'
const CHUNKED = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n'

/** An upstream with these scripts, and a pool of connections to it. */
async function stage(t: Test, ...scripts: Script[]): Promise<{ upstream: RawUpstream; pool: ClientPool }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(...scripts)
  return { upstream, pool: poolTo(t, upstream.origin) }
}

function poolTo(t: Test, origin: string, connectTimeoutMs = 5000): ClientPool {
  const pool = new ClientPool(origin, connectTimeoutMs)
  t.teardown(() => pool.destroy())
  return pool
}

const says =
  (text: string, cuts: readonly number[] = []): Script =>
  peer =>
    peer.send(text, cuts)

/** Timers run before the event loop polls: what is written now has arrived when requests of this turn are sent. */
const beforePoll = (): Promise<void> => new Promise(resolve => setTimeout(resolve))

/** Which connections carried the requests, in order. */
const carriers = (upstream: RawUpstream): number[] => upstream.requests.items.map(({ connection }) => connection)

// ── requests

t.test('a request goes out as one head with its body', async t => {
  const { upstream, pool } = await stage(t, says(OK))
  const headers = ['content-type', 'text/plain', 'X-Name', 'a\tb \xe9']
  await ask(pool, { method: 'POST', path: '/a?b=c', headers, body: Buffer.from('body') })
  const [request] = upstream.requests.items
  t.equal(
    request?.head.raw.toString('latin1'),
    `POST /a?b=c HTTP/1.1\r\nhost: ${new URL(upstream.origin).host}\r\nconnection: keep-alive\r\n` +
      'content-type: text/plain\r\nX-Name: a\tb \xe9\r\ncontent-length: 4\r\n\r\n',
  )
  t.equal(String(request?.body), 'body')
})

t.test('a body has its length, and what has none says so only where one is expected', async t => {
  const { upstream, pool } = await stage(t, says(OK))
  const cases: [Asked, string | undefined][] = [
    [{ method: 'POST' }, '0'],
    [{ method: 'PUT', body: Buffer.alloc(0) }, '0'],
    [{ method: 'GET', body: Buffer.alloc(0) }, undefined],
    [{ method: 'DELETE' }, undefined],
    [{ method: 'POST', headers: ['content-length', '3'], body: Buffer.from('abc') }, '3'],
  ]
  for (const [request, length] of cases) {
    await ask(pool, request)
    t.equal(upstream.requests.items.at(-1)?.header('content-length'), length)
  }
  await ask(pool, { headers: ['host', 'other.example', 'connection', 'close'] })
  const last = upstream.requests.items.at(-1)?.head.raw.toString('latin1')
  t.match(last, /^GET \/ HTTP\/1\.1\r\nhost: other\.example\r\nconnection: keep-alive\r\n\r\n$/)
})

t.test('a large body arrives whole', async t => {
  const { upstream, pool } = await stage(t, says(OK))
  for (const size of [1, 16 * 1024, 63 * 1024, 64 * 1024, 5 * 1024 * 1024]) {
    const body = Buffer.alloc(size, 'abc')
    await ask(pool, { method: 'POST', body })
    t.ok(upstream.requests.items.at(-1)?.body.equals(body), `${size} bytes`)
  }
})

t.test('bodies of requests at the same time do not mix, also where the upstream takes them slowly', async t => {
  const { upstream, pool } = await stage(t, says(OK))
  const bodies = Array.from({ length: 200 }, (_, index) =>
    Buffer.alloc(60 * 1024, String.fromCharCode(33 + (index % 90))),
  )
  await Promise.all(bodies.map(body => ask(pool, { method: 'POST', body })))
  const mixed = upstream.requests.items.filter(({ body }) => !body.equals(Buffer.alloc(60 * 1024, body.subarray(0, 1))))
  t.equal(upstream.requests.items.length, bodies.length)
  t.equal(mixed.length, 0, 'each is one letter')
  const firsts = (all: readonly Buffer[]): string[] => all.map(body => String(body.subarray(0, 1))).toSorted()
  t.same(firsts(upstream.requests.items.map(({ body }) => body)), firsts(bodies))
})

t.test('what would be another header, or another request, to the upstream is not sent', async t => {
  const { upstream, pool } = await stage(t, says(OK))
  const refused: Asked[] = [
    { method: 'GET /x HTTP/1.1\r\n\r\nGET' },
    { method: 'GET ' },
    { method: '' },
    { method: 'CONNECT' },
    { path: '/a b' },
    { path: '/a\r\nx: y' },
    { path: '/\0' },
    { path: '/\u0161' },
    { path: 'a' },
    { path: '' },
    { path: 'http://x/' },
    { headers: ['a\r\nb', 'c'] },
    { headers: ['a:', 'c'] },
    { headers: ['a ', 'c'] },
    { headers: ['', 'c'] },
    { headers: ['a', 'b\r\nc: d'] },
    { headers: ['a', 'b\nc'] },
    { headers: ['a', 'b\rc'] },
    { headers: ['a', 'b\0c'] },
    { headers: ['a', '\x7f'] },
    { headers: ['a', '\u010a'] },
    { headers: ['a'] },
    { headers: ['host', 'a', 'Host', 'b'] },
    { headers: ['host', 'a\r\nb: c'] },
    { headers: ['Transfer-Encoding', 'chunked'] },
    { headers: ['content-length', '1'] },
    { headers: ['content-length', '1'], method: 'POST', body: Buffer.from('ab') },
    { headers: ['expect', '100-continue'] },
    { headers: ['upgrade', 'h2c'] },
  ]
  for (const request of refused) {
    const heard = begin(pool, request)
    t.match(heard, { calls: ['error'], error: { code: 'REQUEST_INVALID' } }, JSON.stringify(request))
  }
  await ask(pool)
  t.equal(upstream.requests.items.length, 1)
  t.equal(upstream.connections.items.length, 1)
})

// ── answers

const WHOLE: Readonly<Record<string, readonly [answer: string, body: string, reused: boolean]>> = {
  'a length': ['HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello', 'hello', true],
  'a length of 0': ['HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n', '', true],
  chunks: [`${CHUNKED}5\r\nhello\r\n6;a="b"\r\n world\r\n0\r\n\r\n`, 'hello world', true],
  'chunks in capitals': ['HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked \r\n\r\n1\r\na\r\n0\r\n\r\n', 'a', true],
  trailers: [`${CHUNKED}1\r\na\r\n0\r\nx-trailer: b\r\nx-other:\r\n\r\n`, 'a', true],
  'a status without a body': ['HTTP/1.1 204 No Content\r\n\r\n', '', true],
  'not modified': ['HTTP/1.1 304 Not Modified\r\n\r\n', '', true],
  'HTTP/1.0 that keeps the connection': [
    'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ncontent-length: 1\r\n\r\na',
    'a',
    true,
  ],
  'informational answers': [
    `HTTP/1.1 100 Continue\r\n\r\n${'HTTP/1.1 103 Hints\r\na: b\r\n\r\n'.repeat(7)}${OK}`,
    'ok',
    true,
  ],
  'connection: close': ['HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 1\r\n\r\na', 'a', false],
  'HTTP/1.0': ['HTTP/1.0 200 OK\r\ncontent-length: 1\r\n\r\na', 'a', false],
  'chunks in HTTP/1.0': [
    'HTTP/1.0 200 OK\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
    'a',
    false,
  ],
  'a server that closes soon': ['HTTP/1.1 200 OK\r\nkeep-alive: timeout=2\r\ncontent-length: 1\r\n\r\na', 'a', false],
  'a server that waits': ['HTTP/1.1 200 OK\r\nkeep-alive: timeout=5, max=9\r\ncontent-length: 1\r\n\r\na', 'a', true],
  'bytes behind the answer': ['HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\naHTTP/1.1 200 OK\r\n', 'a', false],
  'a blank line behind the answer': ['HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\na\r\n', 'a', false],
  'a length where no body may be': ['HTTP/1.1 304 Not Modified\r\ncontent-length: 5\r\n\r\n', '', false],
  'a body where none may be': ['HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello', '', false],
}

for (const [what, [answer, body, isReused]] of Object.entries(WHOLE)) {
  t.test(`an answer with ${what} is whole${isReused ? ', and the connection is used again' : ''}`, async t => {
    for (const cuts of [[], Array.from(answer, (_, index) => index)]) {
      const { upstream, pool } = await stage(t, says(answer, cuts), says(OK))
      const heard = await ask(pool)
      t.equal(heard.error, undefined)
      t.equal(heard.body, body)
      t.equal(
        heard.calls.join(' ').replace(/( data)+/, ' data'),
        body === '' ? 'start head end' : 'start head data end',
      )
      // Cut, what should not be there may come when the connection is idle, or even later.
      await turn()
      t.equal((await ask(pool)).body, 'ok')
      t.strictSame(carriers(upstream), [0, isReused ? 0 : 1])
    }
  })
}

t.test('an answer without a length ends with its connection', async t => {
  const { upstream, pool } = await stage(
    t,
    peer => peer.send('HTTP/1.1 200 OK\r\n\r\nhello', [21]).then(() => peer.finish()),
    says(OK),
  )
  t.match(await ask(pool), { body: 'hello', error: undefined })
  t.equal((await ask(pool)).body, 'ok')
  t.strictSame(carriers(upstream), [0, 1])
})

t.test('a reset is not the end of an answer without a length', async t => {
  const { pool } = await stage(t, peer => peer.send('HTTP/1.1 200 OK\r\n\r\nhello').then(() => peer.reset()))
  t.match(await ask(pool), { status: 200, error: { code: 'ECONNRESET' } })
})

t.test('the answer to HEAD has no body, whatever it says of one, and ends the connection', async t => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n'
  const { upstream, pool } = await stage(t, says(answer), says(OK))
  t.match(await ask(pool, { method: 'HEAD' }), { calls: ['start', 'head', 'end'], headers: { 'content-length': '5' } })
  t.equal((await ask(pool)).body, 'ok')
  t.strictSame(carriers(upstream), [0, 1])
})

t.test('headers are a record by names in lower case, several of one name a list', async t => {
  const answer =
    'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nSet-Cookie: a\r\nX: \xe9 \r\nSET-COOKIE: b\r\nset-cookie:c\r\n' +
    '__proto__: d\r\nconstructor: e\r\nhasOwnProperty:\r\n\r\n'
  const { pool } = await stage(t, says(answer))
  const { headers } = await ask(pool)
  t.strictSame(Object.entries(headers), [
    ['content-length', '0'],
    ['set-cookie', ['a', 'b', 'c']],
    ['x', '\xe9'],
    ['__proto__', 'd'],
    ['constructor', 'e'],
    ['hasownproperty', ''],
  ])
  t.equal(headers.toString, undefined)
})

const REFUSED: Readonly<Record<string, readonly [answer: string, code: RegExp]>> = {
  'both lengths': [`${CHUNKED.slice(0, -2)}content-length: 1\r\n\r\n`, /^HPE_/],
  'a list of lengths': ['HTTP/1.1 200 OK\r\ncontent-length: 1, 1\r\n\r\na', /^HPE_/],
  'two lengths': ['HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 1\r\n\r\na', /^HPE_/],
  'a length of 16 digits': ['HTTP/1.1 200 OK\r\ncontent-length: 1234567890123456\r\n\r\na', /^ANSWER_INVALID$/],
  'another coding': ['HTTP/1.1 200 OK\r\ntransfer-encoding: gzip\r\n\r\na', /^ANSWER_INVALID$/],
  'a coding beside chunks': ['HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, chunked\r\n\r\n', /^ANSWER_INVALID$/],
  'a coding behind chunks': [
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked, gzip\r\n\r\n',
    /^(ANSWER_INVALID|HPE_.*)$/,
  ],
  'chunks twice': [
    'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n',
    /^(ANSWER_INVALID|HPE_.*)$/,
  ],
  'another protocol': ['HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: h2c\r\n\r\n', /^ANSWER_INVALID$/],
  'nine informational answers': [`${'HTTP/1.1 103 Hints\r\n\r\n'.repeat(9)}${OK}`, /^ANSWER_INVALID$/],
  'an informational answer that ends the connection': [
    `HTTP/1.1 103 Hints\r\nconnection: close\r\n\r\n${OK}`,
    /^ANSWER_INVALID$/,
  ],
  'a status below 100': ['HTTP/1.1 099 OK\r\ncontent-length: 0\r\n\r\n', /^ANSWER_INVALID$/],
  'a status above 599': ['HTTP/1.1 600 OK\r\ncontent-length: 0\r\n\r\n', /^ANSWER_INVALID$/],
  'HTTP/2': ['HTTP/2.0 200 OK\r\ncontent-length: 0\r\n\r\n', /^ANSWER_INVALID$/],
  'HTTP/0.9': ['HTTP/0.9 200 OK\r\ncontent-length: 0\r\n\r\n', /^ANSWER_INVALID$/],
  RTSP: ['RTSP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n', /^ANSWER_INVALID$/],
  'a blank line first': [`\r\n${OK}`, /^ANSWER_INVALID$/],
  TLS: ['\x15\x03\x01\x00\x02\x02\x46', /^ANSWER_INVALID$/],
  'a bare CR in a header': ['HTTP/1.1 200 OK\r\na: b\rc: d\r\ncontent-length: 0\r\n\r\n', /^HPE_/],
  'a head of 64 KiB': [`HTTP/1.1 200 OK\r\na: ${'x'.repeat(64 * 1024)}\r\n\r\n`, /^HPE_HEADER_OVERFLOW$/],
  'a chunk size that is none': [`${CHUNKED}1\r\na\r\nx\r\n`, /^HPE_INVALID_CHUNK_SIZE$/],
  'trailers of 64 KiB': [`${CHUNKED}0\r\n${'a: b\r\n'.repeat(11_000)}`, /^HPE_HEADER_OVERFLOW$/],
}

for (const [what, [answer, code]] of Object.entries(REFUSED)) {
  t.test(`an answer with ${what} is refused, and its connection is gone`, async t => {
    const { upstream, pool } = await stage(t, says(answer), says(OK))
    const heard = await ask(pool)
    t.match(heard.error?.code, code)
    await upstream.closes.count(1)
    t.equal((await ask(pool)).body, 'ok')
    t.strictSame(carriers(upstream), [0, 1])
  })
}

const CUT_SHORT: Readonly<Record<string, string>> = {
  'before the head': '',
  'within the head': 'HTTP/1.1 200 OK\r\ncontent-',
  'within a body with a length': 'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhell',
  'within a chunk': `${CHUNKED}5\r\nhell`,
  'before the last chunk': `${CHUNKED}5\r\nhello\r\n`,
  'before the blank line of the trailers': `${CHUNKED}5\r\nhello\r\n0\r\n`,
  'behind an informational answer': 'HTTP/1.1 103 Hints\r\n\r\n',
}

for (const [where, bytes] of Object.entries(CUT_SHORT)) {
  t.test(`an upstream that stops sending ${where} is an error at once`, async t => {
    const { pool } = await stage(t, async peer => {
      await peer.send(bytes)
      peer.socket.end()
      await peer.gone()
    })
    t.match(await ask(pool), { error: { code: 'CONNECTION_CLOSED' } })
  })

  t.test(`a reset ${where} is an error`, async t => {
    const { pool } = await stage(t, peer => peer.send(bytes).then(() => peer.reset()))
    t.match(await ask(pool), { error: { code: 'ECONNRESET' } })
  })
}

t.test('an upstream that stops sending with its answer is whole, and not used again', async t => {
  let closed: Promise<unknown> | undefined
  const { upstream, pool } = await stage(
    t,
    async peer => {
      closed = peer.gone()
      await peer.send(OK)
      peer.finish()
    },
    says(OK),
  )
  t.match(await ask(pool), { body: 'ok', error: undefined })
  await closed
  t.equal((await ask(pool)).body, 'ok')
  t.strictSame(carriers(upstream), [0, 1])
})

t.test('chunks that arrive together are handed over together, in a buffer of their own', async t => {
  const { pool } = await stage(
    t,
    says(`${CHUNKED}1\r\na\r\n1\r\nb\r\n1\r\nc\r\n`.concat('0\r\n\r\n')),
    says(OK.replace('ok', 'no')),
  )
  const heard = await ask(pool)
  t.strictSame(heard.chunks.map(String), ['abc'])
  await ask(pool)
  t.strictSame(heard.chunks.map(String), ['abc'], 'the next read left it alone')
})

// ── idle connections

t.test('an idle connection that the upstream ends or resets is not used', async t => {
  for (const how of ['end', 'resetAndDestroy'] as const) {
    const { upstream, pool } = await stage(t, says(OK))
    await ask(pool)
    await beforePoll()
    upstream.connections.items[0]?.[how]()
    t.equal((await ask(pool)).body, 'ok', 'even when it is used in the same turn of the event loop')
    t.strictSame(carriers(upstream), [0, 1])
  }
})

t.test('an idle connection that gets bytes is destroyed', async t => {
  const { upstream, pool } = await stage(t, says(OK))
  await ask(pool)
  await beforePoll()
  upstream.connections.items[0]?.write(OK.replace('ok', 'no'))
  t.equal((await ask(pool)).body, 'ok')
  t.strictSame(carriers(upstream), [0, 1])
  await upstream.closes.count(1)
})

t.test('requests at the same time have a connection each, and later ones use the last of them', async t => {
  const { upstream, pool } = await stage(t, says(OK))
  await Promise.all([ask(pool), ask(pool), ask(pool)])
  t.equal(pool.size, 3)
  await ask(pool)
  t.equal(pool.size, 3)
  t.equal(upstream.connections.items.length, 3)
})

t.test('the next request of an answered one finds its connection free', async t => {
  const { upstream, pool } = await stage(t, says(OK))
  let second: ReturnType<typeof begin> | undefined
  await ask(pool, {}, { end: () => (second = begin(pool)) })
  await second?.over
  t.strictSame(carriers(upstream), [0, 0])
})

t.test('answered before the upstream took the request: the connection is not used again', async t => {
  const upstream = await startRawUpstream(t, { read: 'head' })
  upstream.answer(async peer => {
    peer.socket.pause()
    await peer.send(OK)
  })
  const pool = poolTo(t, upstream.origin)
  const heard = await ask(pool, { method: 'POST', body: Buffer.alloc(32 * 1024 * 1024) })
  t.equal(heard.body, 'ok')
  t.equal((await ask(pool)).body, 'ok')
  t.strictSame(carriers(upstream), [0, 1])
})

// ── control

t.test('nothing is handed over in a pause, and the upstream waits', async t => {
  const body = 'x'.repeat(8 * 1024 * 1024)
  const { upstream, pool } = await stage(t, peer =>
    peer.send(`HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`),
  )
  const heard = begin(pool, {}, { head: one => one.controller?.pause() })
  const [socket] = await upstream.connections.count(1)
  await upstream.requests.count(1)
  let left = -1
  while (left !== socket?.writableLength || left === 0) {
    left = socket?.writableLength ?? 0
    for (let i = 0; i < 20; i++) await turn()
  }
  t.ok(left > 1024 * 1024, `${left} bytes wait at the upstream`)
  t.strictSame(heard.calls, ['start', 'head'])
  t.equal(heard.controller?.paused, true)
  heard.controller?.resume()
  await heard.over
  t.ok(heard.body === body)
})

t.test('pauses at any place lose nothing, also where the connection has ended meanwhile', async t => {
  const answers = [
    OK,
    `${CHUNKED}1\r\na\r\n2\r\nbc\r\n0\r\n\r\n`,
    'HTTP/1.1 200 OK\r\n\r\nabc',
    'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
  ]
  for (const answer of answers) {
    for (const cuts of [[], [30], Array.from(answer, (_, index) => index)]) {
      const { pool } = await stage(t, peer => peer.send(answer, cuts).then(() => peer.finish()))
      const handed: number[] = []
      const rest = (one: { controller: { pause(): void } | undefined; calls: string[] }): void => {
        one.controller?.pause()
        handed.push(one.calls.length)
      }
      const heard = begin(pool, {}, { head: rest, data: rest })
      let isOver = false
      heard.over.then(() => {
        isOver = true
      })
      while (!isOver) {
        for (let i = 0; i < 4; i++) await turn()
        if (heard.controller?.paused === true) {
          t.equal(heard.calls.length, handed.at(-1), 'nothing since the pause')
          heard.controller.resume()
        }
      }
      t.equal(heard.error, undefined)
      t.equal(
        heard.body,
        answer.includes('200 OK\r\n\r\n') || answer.startsWith(CHUNKED)
          ? 'abc'
          : answer.slice(answer.indexOf('\r\n\r\n') + 4),
      )
    }
  }
})

t.test('an error waits for the bytes before it', async t => {
  const { upstream, pool } = await stage(t, peer => peer.send(`${CHUNKED}3\r\nabc\r\n`).then(() => peer.finish()))
  const heard = begin(pool, {}, { head: one => one.controller?.pause() })
  await upstream.requests.count(1)
  for (let i = 0; i < 20; i++) await turn()
  t.strictSame(heard.calls, ['start', 'head'])
  heard.controller?.resume()
  await heard.over
  t.match(heard, { calls: ['start', 'head', 'data', 'error'], error: { code: 'CONNECTION_CLOSED' } })
})

const reason = new Error('enough')

t.test('a request that is given up before it is sent leaves its connection to the next one', async t => {
  const { upstream, pool } = await stage(t, says(OK))
  const heard = await ask(pool, {}, { start: one => one.controller?.abort(reason) })
  t.strictSame(heard.calls, ['start', 'error'])
  t.equal(heard.error, reason)
  t.equal((await ask(pool)).body, 'ok')
  t.equal(upstream.connections.items.length, 1)
  t.equal(upstream.requests.items.length, 1)
})

t.test('given up later, an exchange ends at once, and its connection with it', async t => {
  const bytes: Readonly<Record<string, string>> = { '': 'start', HTTP: 'start', [`${CHUNKED}1\r\na\r\n`]: 'data' }
  for (const [sent, last] of Object.entries(bytes)) {
    const { upstream, pool } = await stage(t, peer => peer.send(sent).then(() => peer.gone()), says(OK))
    const heard = begin(pool, {}, { data: one => one.controller?.abort(reason) })
    await upstream.requests.count(1)
    for (let i = 0; i < 5; i++) await turn()
    heard.controller?.abort(reason)
    t.equal(heard.error, reason)
    t.equal(heard.calls.at(-2), last)
    await upstream.aborts.count(1)
    t.equal((await ask(pool)).body, 'ok')
    t.equal(heard.calls.filter(call => call === 'error').length, 1)
  }
})

t.test('given up in its pause, or by its handler while it reads', async t => {
  for (const hook of ['head', 'data'] as const) {
    const { upstream, pool } = await stage(t, says(OK))
    const paused = begin(
      pool,
      {},
      { [hook]: (one: { controller: { pause(): void } | undefined }) => one.controller?.pause() },
    )
    await upstream.requests.count(1)
    for (let i = 0; i < 5; i++) await turn()
    paused.controller?.abort(reason)
    t.equal(paused.error, reason)
    const reading = await ask(
      pool,
      {},
      { [hook]: (one: { controller: { abort(e: Error): void } | undefined }) => one.controller?.abort(reason) },
    )
    t.equal(reading.error, reason)
    t.equal(reading.calls.at(-2), hook)
  }
})

t.test("an exchange that is over has no power over the next one's connection", async t => {
  const { upstream, pool } = await stage(t, says(OK), peer => peer.send(OK, [3, 20, 40]))
  const first = await ask(pool)
  const second = begin(pool)
  await upstream.requests.count(2)
  first.controller?.pause()
  first.controller?.abort(reason)
  await second.over
  t.equal(second.body, 'ok')
  t.equal(first.error, undefined)
  t.strictSame(carriers(upstream), [0, 0])
})

t.test('a handler that throws ends its exchange with that error', async t => {
  const fail = (): never => {
    throw reason
  }
  for (const hook of ['start', 'head', 'data', 'end'] as const) {
    const { pool } = await stage(t, says(OK))
    const heard = await ask(pool, {}, { [hook]: fail })
    await turn()
    t.equal(heard.error, reason, hook)
    t.strictSame(heard.calls.slice(-2), [hook, 'error'])
    t.equal((await ask(pool)).body, 'ok')
  }
})

// ── connecting

t.test('an upstream that refuses connections', async t => {
  const pool = poolTo(t, await refusingOrigin())
  t.match(await ask(pool), { calls: ['error'], error: { code: 'ECONNREFUSED' } })
  t.equal(pool.size, 0)
})

t.test('a connection that does not come about in time', async t => {
  const pool = poolTo(t, await hangingOrigin(t), 50)
  t.match(await ask(pool), { calls: ['error'], error: { code: 'CONNECT_TIMEOUT' } })
})

t.test('of several addresses the one that answers is used', async t => {
  const { upstream, pool } = await stage(t, says(OK))
  t.equal((await ask(pool)).body, 'ok')
  const named = poolTo(t, `http://localhost:${upstream.port}`)
  t.equal((await ask(named)).body, 'ok')
  t.equal(upstream.requests.items.at(-1)?.header('host'), `localhost:${upstream.port}`)
})

t.test('a pool that closes lets exchanges finish and takes no more', async t => {
  const { upstream, pool } = await stage(
    t,
    says(OK),
    async peer => {
      await upstream.requests.count(3)
      await peer.send(OK)
    },
    says(OK),
  )
  await ask(pool)
  const first = begin(pool)
  await upstream.requests.count(2)
  const closed = pool.close()
  t.match(await ask(pool), { calls: ['error'], error: { code: 'CONNECTION_CLOSED' } })
  await ask(poolTo(t, upstream.origin))
  await closed
  t.equal(first.body, 'ok')
  t.equal(pool.size, 0)
})

t.test('a pool that is destroyed breaks off what is under way, even before it is sent', async t => {
  const { upstream, pool } = await stage(t, says(OK), peer => peer.gone())
  await ask(pool)
  const sent = begin(pool)
  await upstream.requests.count(2)
  const unsent = begin(pool)
  await pool.destroy()
  for (const heard of [sent, unsent]) t.match(heard.error, { code: 'CONNECTION_CLOSED' })
  await upstream.closes.count(1)
  t.equal(pool.size, 0)
})

t.test('a pool whose only request has no connection yet is destroyed, and closed', async t => {
  const { upstream, pool } = await stage(t, says(OK))
  const unsent = begin(pool)
  await pool.destroy()
  t.match(unsent.error, { code: 'CONNECTION_CLOSED' })

  const other = poolTo(t, upstream.origin)
  const last = begin(other)
  await other.close()
  t.equal(last.body, 'ok')
})
