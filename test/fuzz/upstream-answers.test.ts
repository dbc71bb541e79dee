import { deepEqual, equal, ok } from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { Client, type Dispatcher } from 'undici'
import { ClientPool } from '../../src/transport/client/pool.js'
import { turn } from '../helpers/raw-upstream.js'
import { Heard } from '../transport/heard.js'
import { cut, cutsInTwo } from '../wire/cuts.js'
import { fuzz } from './run.js'

/**
 * The gateway's client against undici: each gets the same bytes over a connection of its own, which ends behind them. What
 * ours accepts, undici accepts with the same status, headers and body.
 */

/** What an upstream answers to one request, in separate writes. */
interface Answer {
  readonly method: string
  readonly pieces: readonly Buffer[]
}

const answers = new Map<number, Answer>()
let count = 0

const upstream = createServer({ noDelay: true }, socket => {
  socket.on('error', () => undefined)
  let head = ''
  socket.on('data', async bytes => {
    head += bytes.toString('latin1')
    if (!head.includes('\r\n\r\n')) return
    const { pieces } = answers.get(Number(/\/(\d+)/.exec(head)?.[1])) ?? { pieces: [] }
    head = ''
    for (const piece of pieces) {
      if (piece.length === 0) continue
      socket.write(piece)
      await turn()
    }
    socket.end()
  })
})
upstream.listen(0, '127.0.0.1')
await once(upstream, 'listening')
const origin = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`
t.teardown(() => upstream.close())

/** Why ours may refuse what undici accepts, by what the error says. */
const STRICTER = [
  // Blank lines before the answer; RTSP and ICE.
  'it does not begin with HTTP/',
  // RFC 9112 §2.3: versions of another major number are other protocols, and 0.9 has no heads.
  /version (0\.9|2\.0)/,
  /status \d+/,
  // A coding that is not undone would reach clients as if it were the content.
  'transfer-encoding',
  'content-length',
  'too many informational answers',
  // Counted with its colons and line ends, and with the reason.
  /more than 65536 bytes/,
]

/**
 * Where ours accepts what undici refuses: informational answers of status 100, and lengths of bodies that the status or the
 * method excludes (RFC 9110 §15.4.5 allows them for 304). undici waits for those bodies.
 */
function isMoreTolerant(text: string, { status }: Heard): boolean {
  return /(?:^|\r\n)HTTP\/1\.[01] 100\b/.test(text) || status === 204 || status === 304
}

const agreed = { whole: 0, refused: 0 }

async function check({ method, pieces }: Answer): Promise<void> {
  const number = count++
  const path = `/${number}`
  answers.set(number, { method, pieces })
  const text = Buffer.concat(pieces).toString('latin1')
  const pool = new ClientPool(origin, 5000)
  const library = new Client(origin, { pipelining: 1, maxHeaderSize: 64 * 1024 })
  const [ours, theirs] = [new Heard(), new Heard()]
  pool.send({ method, path, headers: [], body: null }, ours)
  const options = { method, path, headers: [] } as unknown as Dispatcher.DispatchOptions
  library.dispatch(options, new FinalHead(theirs))
  await Promise.all([ours.over, theirs.over])
  await Promise.all([pool.destroy(), library.destroy()])
  answers.delete(number)
  if (ours.error === undefined) {
    agreed.whole++
    if (theirs.error !== undefined) return ok(isMoreTolerant(text, ours), `undici refuses: ${theirs.error.message}`)
    equal(ours.status, theirs.status)
    deepEqual(Object.entries(ours.headers), Object.entries(trimmed(theirs.headers)))
    equal(ours.body, theirs.body)
  } else if (theirs.error === undefined) {
    const { message } = ours.error
    ok(
      STRICTER.some(reason => (typeof reason === 'string' ? message.includes(reason) : reason.test(message))),
      `undici accepts, ours: ${message}`,
    )
  } else agreed.refused++
}

/** undici also tells of informational answers. */
class FinalHead {
  readonly #heard: Heard
  constructor(heard: Heard) {
    this.#heard = heard
  }
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#heard.onRequestStart(controller)
  }
  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: Heard['headers']): void {
    if (status >= 200) this.#heard.onResponseStart(controller, status, headers)
  }
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#heard.onResponseData(controller, Buffer.from(chunk))
  }
  onResponseEnd(): void {
    this.#heard.onResponseEnd()
  }
  onResponseError(controller: Dispatcher.DispatchController, cause: Error): void {
    this.#heard.onResponseError(controller, cause)
  }
}

/** undici leaves blanks at the end of values. */
function trimmed(headers: Heard['headers']): Heard['headers'] {
  const trim = (value: string): string => value.replace(/[\t ]+$/, '')
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      Array.isArray(value) ? value.map(trim) : value === undefined ? undefined : trim(value),
    ]),
  )
}

const CHUNKED = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n'
const SOUND: readonly string[] = [
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\nA: b\r\n\r\nhello',
  'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nset-cookie: a\r\nSet-Cookie: b\r\n\r\n',
  'HTTP/1.1 429 Too Many Requests\r\nretry-after: 1\r\nContent-Length: 2\r\n\r\n{}',
  `${CHUNKED}\r\n5\r\nhello\r\n0\r\n\r\n`,
  `${CHUNKED}Content-Type: text/event-stream\r\n\r\nc\r\ndata: {"a"}\n\n\r\nA;b="c"\r\n0123456789\r\n0\r\nX: y\r\n\r\n`,
  'HTTP/1.1 200 OK\r\n\r\nuntil the end',
  'HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na',
  'HTTP/1.1 204 No Content\r\nA:\r\n\r\n',
  'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n',
  'HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na',
  'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na',
]

t.test('every answer that is sound is read as undici does, cut at every byte', { timeout: 120_000 }, async t => {
  for (const text of SOUND) {
    for (const method of text.includes(' 103 ') ? ['GET'] : ['GET', 'HEAD']) {
      await Promise.all([...cutsInTwo(Buffer.from(text, 'latin1'))].map(pieces => check({ method, pieces })))
    }
  }
  t.ok(agreed.whole > 500, `${agreed.whole} whole, ${agreed.refused} refused by both`)
})

/** Tokens at the edges of the grammar, and of other messages. */
const SNIPPETS = [
  ...[
    '\r',
    '\n',
    '\r\n',
    '\r\n\r\n',
    '\0',
    ' ',
    '\t',
    ':',
    ';',
    ',',
    '\x7f',
    '\x80',
    '"',
    '0',
    '00',
    '5',
    'a',
    'ffffffff',
    '-',
    '+',
    '0x',
  ],
  ...[
    'HTTP/1.1',
    'HTTP/1.0',
    'HTTP/2.0',
    '200',
    '100',
    '204',
    '304',
    '1xx',
    'OK',
    'chunked',
    'Chunked',
    'gzip',
    'identity',
  ],
  ...['Content-Length: 5\r\n', 'Content-Length: 5, 5\r\n', 'Content-Length : 5\r\n', 'content-length:\t1 \r\n'],
  ...[
    'Transfer-Encoding: chunked\r\n',
    'transfer-encoding:chunked \r\n',
    'Transfer-Encoding: gzip, chunked\r\n',
    'Transfer-Encoding:\r\n',
  ],
  ...[
    'Connection: close\r\n',
    'Connection: keep-alive, close\r\n',
    'Connection: upgrade\r\nUpgrade: h2c\r\n',
    'Keep-Alive: timeout=1\r\n',
  ],
  ...['X: y\r\n z\r\n', ': a\r\n', 'a\r\n', 'set-cookie: c\r\n', 'constructor: d\r\n'],
  ...[
    'HTTP/1.1 100 Continue\r\n\r\n',
    'HTTP/1.1 103 Hints\r\nA: b\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  ],
  ...['0\r\n\r\n', '1\r\na\r\n', '5;x\r\nhello\r\n', '0\r\nContent-Length: 1\r\n\r\n'],
]

const mutation = fc.record({
  at: fc.nat(200),
  removed: fc.oneof(fc.constant(0), fc.nat(3), fc.nat(30)),
  put: fc.oneof(
    fc.constant(''),
    fc.constantFrom(...SNIPPETS),
    fc.nat(255).map(byte => String.fromCharCode(byte)),
  ),
})

function mutated(text: string, changes: readonly { at: number; removed: number; put: string }[]): string {
  return changes.reduce((whole, { at, removed, put }) => {
    const place = at % (whole.length + 1)
    return whole.slice(0, place) + put + whole.slice(place + removed)
  }, text)
}

/** Mutations between lines do more than those anywhere. */
const atLines = (text: string, put: string, line: number): string => {
  const lines = text.split('\r\n')
  const place = 1 + (line % lines.length)
  return [...lines.slice(0, place), put.replace(/\r\n$/, ''), ...lines.slice(place)].join('\r\n')
}

const text = fc.oneof(
  fc
    .tuple(fc.constantFrom(...SOUND), fc.array(mutation, { minLength: 1, maxLength: 3 }))
    .map(([sound, changes]) => mutated(sound, changes)),
  fc
    .tuple(fc.constantFrom(...SOUND), fc.constantFrom(...SNIPPETS), fc.nat(8))
    .map(([sound, put, line]) => atLines(sound, put, line)),
)

fuzz('what the client accepts of an upstream, undici accepts alike', {
  inputs: fc.record({
    method: fc.constantFrom('GET', 'GET', 'POST', 'HEAD'),
    pieces: fc
      .tuple(text, fc.array(fc.nat(300), { maxLength: 3 }))
      .map(([whole, places]) => cut(Buffer.from(whole, 'latin1'), places)),
  }),
  check,
  show: ({ method, pieces }) => `${method} ${JSON.stringify(pieces.map(piece => piece.toString('latin1')))}`,
})
