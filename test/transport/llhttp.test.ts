import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import t from 'tap'
import { HttpParser, parserMemoryBytes } from '../../src/transport/llhttp.js'
import { cutEverywhere, cutsInTwo } from '../wire/cuts.js'

const require = createRequire(import.meta.url)
const MAX_BYTES = 1024

interface Message {
  headers: string[]
  start: (string | number)[]
  body: string
  error?: string
  /** Bytes behind the head, or behind the last chunk. */
  rest: string
}

/** Reads one message in these pieces; a body only if it comes in chunks. */
function read(type: 'request' | 'response', pieces: readonly Buffer[]): Message {
  const parser = new HttpParser(type, MAX_BYTES)
  const message: Message = { headers: [], start: [], body: '', rest: '' }
  let isOver = false
  for (const piece of pieces) {
    let at = 0
    while (at < piece.length && !isOver) {
      const step = parser.execute(piece, at)
      for (let i = 0; i < parser.body.length; i += 2)
        message.body += piece.toString('latin1', parser.body[i], parser.body[i + 1])
      at = parser.position
      if (step === 'failed') return { ...message, error: parser.error.code }
      if (step === 'head') {
        message.headers = parser.headers
        message.start =
          type === 'request' ? [parser.method, parser.target, parser.version] : [parser.status, parser.version]
        isOver = !parser.headers.includes('chunked')
      } else if (step === 'end') isOver = true
    }
    if (isOver) message.rest += piece.toString('latin1', at)
  }
  parser.free()
  return message
}

const readResponse = (text: string): Message => read('response', [Buffer.from(text, 'latin1')])
const readRequest = (text: string): Message => read('request', [Buffer.from(text, 'latin1')])

t.test("undici's files are where they were, with the version and the functions that are used", async t => {
  const { version } = JSON.parse(readFileSync(require.resolve('undici/package.json'), 'utf8'))
  t.equal(version, '7.30.2', 'another version: run the fuzzers of test/fuzz for some minutes, and change this line')
  const wasm = globalThis as unknown as {
    WebAssembly: {
      Module: (new (
        bytes: Uint8Array,
      ) => object) & {
        imports(module: object): { name: string }[]
        exports(module: object): { name: string }[]
      }
    }
  }
  const { Module } = wasm.WebAssembly
  for (const name of ['llhttp_simd-wasm', 'llhttp-wasm']) {
    const module = new Module(require(`undici/lib/llhttp/${name}.js`))
    t.same(
      Module.imports(module).map(one => one.name),
      [
        'wasm_on_headers_complete',
        'wasm_on_message_begin',
        'wasm_on_url',
        'wasm_on_status',
        'wasm_on_header_field',
        'wasm_on_header_value',
        'wasm_on_body',
        'wasm_on_message_complete',
      ],
      'a callback more would be one that is not answered',
    )
    const exported = new Set(Module.exports(module).map(one => one.name))
    const source = readFileSync(new URL('../../../src/transport/llhttp.ts', import.meta.url), 'utf8')
    const used = new Set(source.match(/\bllhttp_[a-z_]+\b/g)?.filter(word => !word.startsWith('llhttp_simd')))
    t.ok(used.size >= 10, [...used].join(' '))
    for (const word of used) t.ok(exported.has(word), word)
  }
})

const RESPONSE =
  'HTTP/1.1 200 Fine\r\nContent-Type:application/json\r\nX-Empty:\r\nX-BLANK:  \r\nX-Tail: a b \t\r\nA: \xe9\r\n' +
  'Set-Cookie: a\r\nSet-Cookie: b\r\n\r\nbody'
const CHUNKED =
  'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0003;a=b;c="d"\r\nabc\r\n0\r\nX-Trailer: x\r\n\r\nmore'

t.test('a response is read alike however it is cut', async t => {
  const expected: Message = {
    start: [200, '1.1'],
    headers: [
      ...['content-type', 'application/json', 'x-empty', '', 'x-blank', '', 'x-tail', 'a b', 'a', '\xe9'],
      ...['set-cookie', 'a', 'set-cookie', 'b'],
    ],
    body: '',
    rest: 'body',
  }
  const bytes = Buffer.from(RESPONSE, 'latin1')
  for (const pieces of [...cutsInTwo(bytes), cutEverywhere(bytes)]) t.strictSame(read('response', pieces), expected)
})

t.test('chunks are read alike however they are cut, and their trailers are left out', async t => {
  const expected: Message = {
    start: [200, '1.1'],
    headers: ['transfer-encoding', 'chunked'],
    body: 'helloabc',
    rest: 'more',
  }
  const bytes = Buffer.from(CHUNKED)
  for (const pieces of [...cutsInTwo(bytes), cutEverywhere(bytes)]) t.strictSame(read('response', pieces), expected)
})

t.test('a request is read alike however it is cut', async t => {
  const bytes = Buffer.from('POST /v1/a%20b?c=d HTTP/1.1\r\nHost: x:1\r\nContent-Length: 3\r\n\r\nabcGET')
  const expected: Message = {
    start: ['POST', '/v1/a%20b?c=d', '1.1'],
    headers: ['host', 'x:1', 'content-length', '3'],
    body: '',
    rest: 'abcGET',
  }
  for (const pieces of [...cutsInTwo(bytes), cutEverywhere(bytes)]) t.strictSame(read('request', pieces), expected)
})

t.test('a long chunked body is taken window by window', async t => {
  const long = 'x'.repeat(100_000)
  const { body, rest } = readResponse(
    `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n186a0\r\n${long}\r\n0\r\n\r\n!`,
  )
  t.ok(body === long)
  t.equal(rest, '!')
})

t.test('several messages follow each other on one connection', async t => {
  const parser = new HttpParser('response', MAX_BYTES)
  const bytes = Buffer.from(`HTTP/1.1 204 No Content\r\nA: 1\r\n\r\n${CHUNKED}`)
  t.equal(parser.execute(bytes), 'head')
  t.strictSame([parser.status, parser.keepsAlive, parser.headers], [204, true, ['a', '1']])
  parser.next()
  t.equal(parser.execute(bytes, parser.position), 'head')
  t.strictSame(parser.headers, ['transfer-encoding', 'chunked'])
  t.equal(parser.execute(bytes, parser.position), 'end')
  t.equal(bytes.toString('latin1', parser.position), 'more')
  parser.free()
  parser.free()
})

const REFUSED_RESPONSES: Readonly<Record<string, string>> = {
  'a bare LF after the status line': 'HTTP/1.1 200 OK\nA: b\r\n\r\n',
  'a bare LF after a header': 'HTTP/1.1 200 OK\r\nA: b\nC: d\r\n\r\n',
  'a bare CR in a header': 'HTTP/1.1 200 OK\r\nA: b\rC: d\r\n\r\n',
  'a bare CR before the blank line': 'HTTP/1.1 200 OK\r\nA: b\r\r\n\r\n',
  'NUL in a value': 'HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n',
  'a control character in a value': 'HTTP/1.1 200 OK\r\nA: b\x01c\r\n\r\n',
  'DEL in a value': 'HTTP/1.1 200 OK\r\nA: b\x7fc\r\n\r\n',
  'a blank before the colon': 'HTTP/1.1 200 OK\r\nA : b\r\n\r\n',
  'a folded line': 'HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n',
  'an empty name': 'HTTP/1.1 200 OK\r\n: b\r\n\r\n',
  'a name that is not a token': 'HTTP/1.1 200 OK\r\nA(b: c\r\n\r\n',
  'a length twice': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n',
  'a list of lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 1, 1\r\n\r\n',
  'a length with a sign': 'HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n',
  'a length in hex': 'HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\n',
  'a length with a blank inside': 'HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\n',
  'an empty length': 'HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\n',
  'both lengths': 'HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n',
  'both lengths, the other way round': 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n',
  'HTTP/3': 'HTTP/3.0 200 OK\r\n\r\n',
  'a status of two digits': 'HTTP/1.1 20 OK\r\n\r\n',
}

const CHUNKED_HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n'
const REFUSED_CHUNKS: Readonly<Record<string, string>> = {
  'a size with a sign': '+1\r\na\r\n',
  'a size with 0x': '0x1\r\na\r\n',
  'a size that is none': 'g\r\na\r\n',
  'an empty size': '\r\na\r\n',
  'a blank before the size': ' 1\r\na\r\n',
  'a blank behind the size': '1 \r\na\r\n',
  'a bare LF behind the size': '1\na\r\n',
  'a size beyond 64 bits': '11111111111111111\r\na\r\n',
  'a chunk longer than its size': '1\r\nab\r\n',
  'a bare LF behind a chunk': '1\r\na\n0\r\n\r\n',
  'a bare CR behind a chunk': '1\r\na\r0\r\n\r\n',
  'a control character in an extension': '1;a\x01\r\na\r\n',
}

t.test('what is not HTTP/1.1 to the letter is refused', async t => {
  for (const [what, text] of Object.entries(REFUSED_RESPONSES)) t.match(readResponse(text).error, /^HPE_/, what)
  for (const [what, text] of Object.entries(REFUSED_CHUNKS)) {
    t.match(readResponse(CHUNKED_HEAD + text).error, /^HPE_/, what)
  }
  for (const [what, text] of Object.entries({
    'a fragment of another protocol': 'GET / HTTP/1.1 x\r\n\r\n',
    'an unknown method': 'GOT / HTTP/1.1\r\n\r\n',
    'a control character in the target': 'GET /\x01 HTTP/1.1\r\n\r\n',
  }))
    t.match(readRequest(text).error, /^HPE_/, what)
})

t.test('what llhttp accepts nevertheless: callers look at it', async t => {
  for (const text of ['\r\nHTTP/1.1 200 OK\r\n\r\n', 'RTSP/1.0 200 OK\r\n\r\n', 'HTTP/1.1 099 OK\r\n\r\n'])
    t.equal(readResponse(text).error, undefined, text)
  t.strictSame(readResponse('HTTP/2.0 200 OK\r\n\r\n').start, [200, '2.0'])
  t.strictSame(readRequest('GET  / HTTP/1.1\r\n\r\n').start, ['GET', '/', '1.1'])
  t.strictSame(readRequest('GET /\r\n\r\n').start, ['GET', '/', '0.9'])
})

t.test('heads, trailers and extensions of chunks have a limit, though never at an end', async t => {
  const long = 'x'.repeat(MAX_BYTES)
  const lines = 'a: b\r\n'.repeat(MAX_BYTES / 6 + 1)
  const tooLong: Readonly<Record<string, string>> = {
    'one header': `HTTP/1.1 200 OK\r\nA: ${long}\r\n\r\n`,
    'one header without an end': `HTTP/1.1 200 OK\r\nA: ${long}`,
    'many headers': `HTTP/1.1 200 OK\r\n${lines}\r\n`,
    'the reason': `HTTP/1.1 200 ${long}`,
    'blank lines': '\r\n'.repeat(MAX_BYTES),
    trailers: `${CHUNKED_HEAD}0\r\n${lines}`,
    'an extension': `${CHUNKED_HEAD}1;${long}`,
  }
  for (const [what, text] of Object.entries(tooLong)) {
    t.equal(readResponse(text).error, 'HPE_HEADER_OVERFLOW', what)
    t.equal(read('response', cutEverywhere(Buffer.from(text))).error, 'HPE_HEADER_OVERFLOW', what)
  }
  t.equal(readResponse(`HTTP/1.1 200 OK\r\nA: ${'x'.repeat(MAX_BYTES - 24)}\r\n\r\n`).error, undefined)
})

t.test('parsers give their memory back', async t => {
  const parsers = Array.from({ length: 1000 }, () => new HttpParser('response', MAX_BYTES))
  for (const parser of parsers) parser.free()
  const before = parserMemoryBytes()
  for (let i = 0; i < 50_000; i++) {
    const parser = new HttpParser(i % 2 === 0 ? 'response' : 'request', MAX_BYTES)
    if (i % 10 === 0) parser.execute(Buffer.from('HTTP/1.1 200 OK\r\nA'))
    parser.free()
  }
  t.equal(parserMemoryBytes(), before)
})

t.test('more parsers at a time than the first page of memory holds', async t => {
  const parsers = Array.from({ length: 20_000 }, () => new HttpParser('response', MAX_BYTES))
  const bytes = Buffer.from(RESPONSE, 'latin1')
  t.equal(parsers.filter(parser => parser.execute(bytes) === 'head').length, parsers.length)
  for (const parser of parsers) parser.free()
})
