import { deepEqual, equal } from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { converse, type Outcome, type Rig, startRig } from '../transport/server-rig.js'
import { fuzz } from './run.js'

/** The fast path of the server beside `node:http`: what one of them accepts the other must read alike. */

const HEADERS = ['host: gateway', 'authorization: Bearer key', 'content-type: application/json']

function message(method: string, target: string, lines: readonly string[], body = ''): string {
  const length = body === '' ? [] : [`content-length: ${body.length}`]
  return `${[`${method} ${target} HTTP/1.1`, ...HEADERS, ...length, ...lines].join('\r\n')}\r\n\r\n${body}`
}

const TEMPLATES = [
  message('POST', '/v1/chat/completions', [], '{"model":"m"}'),
  message('POST', '/v1/a?as=chunks', ['accept: */*', 'connection: keep-alive'], 'x'.repeat(300)),
  message('GET', '/v1/models?as=none', ['Accept-Encoding: gzip']),
  message('HEAD', '/v1/models', ['x-a:  b  ', 'X-A:\tc']),
  message('DELETE', '/v1/files/%20?as=close', ['cookie: a=1', 'cookie: b=2']),
  message('POST', '/a?as=large', ['connection: close'], 'GET /b HTTP/1.1\r\nhost: x\r\n\r\n'),
  message('POST', '/a?as=empty', ['expect: 100-continue'], '0\r\n\r\n'),
  `${message('POST', '/chunked', ['transfer-encoding: chunked'])}5\r\nhello\r\n0\r\n\r\n`,
  message('GET', '/one', []) + message('POST', '/two?as=chunks', [], 'two') + message('PUT', '/three', [], '3'),
]

/** Pieces of bytes that servers have read in different ways. */
const BYTES = [
  '\r',
  '\n',
  '\r\n',
  '\0',
  '\x7f',
  ' ',
  '\t',
  '\x0b',
  '\x0c',
  '\x1b',
  '\x80',
  '\xff',
  ':',
  ',',
  ';',
  '#',
  '"',
  '\\',
  '0',
  '+',
  '-',
  '\r\n ',
  '\r\n\t',
  '\r\n\r\n',
  '\n\n',
  '%00',
  'é',
]

/** Header lines of the classes of request smuggling. */
const LINES = [
  ...[
    'content-length: 5',
    'Content-Length: 13',
    'content-length: 13, 13',
    'content-length: +13',
    'content-length: 0x0d',
  ],
  ...[
    'content-length: 013',
    'content-length: 1 3',
    'content-length:',
    'content-length: 13;',
    'content-length : 13',
    'content_length: 5',
  ],
  ...[
    'content-length: 99999999999999999999',
    'content-length: 4294967309',
    'content-length: -1',
    'content-length: 13\t',
    ' content-length: 5',
  ],
  ...[
    'transfer-encoding: chunked',
    'Transfer-Encoding: chunked',
    'transfer-encoding: xchunked',
    'transfer-encoding: identity',
  ],
  ...[
    'transfer-encoding: chunked, identity',
    'transfer-encoding: gzip, chunked',
    'transfer-encoding:\x0bchunked',
    'transfer-encoding : chunked',
  ],
  ...[
    'transfer-encoding:\r\n chunked',
    'transfer-encoding: "chunked"',
    'transfer-encoding: chunked\r\ntransfer-encoding: x',
    'te: trailers',
  ],
  ...['host: other', 'Host: ', 'host: a b', 'host: a@b', 'host: a,b', 'host : x', 'host: [::1]:80', 'host: a/b'],
  ...[
    'connection: close',
    'connection: Keep-Alive',
    'connection: upgrade',
    'connection: close, x',
    'connection: content-length',
  ],
  ...[
    'proxy-connection: close',
    'keep-alive: 5',
    'upgrade: websocket',
    'upgrade: h2c',
    'http2-settings: a',
    'expect: 100-continue',
    'expect: x',
  ],
  ...[
    'trailer: x',
    'x: \r y',
    'x: \n y',
    'x y: z',
    ': x',
    'nothing',
    'x',
    'x:',
    'x:y:z',
    '\x01: x',
    'é: x',
    'x: é',
    'x: \x7f',
    '"a": b',
    '(a): b',
  ],
  ...[
    '__proto__: x',
    'constructor: x',
    'toString: x',
    'hasOwnProperty: x',
    'set-cookie: a',
    'cookie: c=3',
    'accept: a',
    'Accept: b',
    'content-type: text/plain',
  ],
  ...[
    'authorization: Bearer two',
    'user-agent: a',
    'user-agent: b',
    'date: x',
    'x-forwarded-for: a',
    'X-Forwarded-For: b',
    `x-long: ${'l'.repeat(9000)}`,
  ],
]

const METHODS = [
  'get',
  'GET ',
  ' GET',
  'PRI',
  'CONNECT',
  'TRACE',
  'M-SEARCH',
  'OPTIONS',
  'PATCH',
  'PUT',
  'PROPFIND',
  'QUERY',
  'FOO',
  'G\0T',
  'GET\t',
  'GE',
  '',
  'SOURCE',
]
const TARGETS = [
  '*',
  '//a',
  'http://gateway/a',
  'gateway:80',
  '/a#b',
  '/a b',
  '/\x7f',
  '/é',
  '/\t',
  '',
  '/a\0',
  '/%',
  '/?',
  '/a?b?c',
  '\\a',
  '/a\\b',
  '/"<>^`{|}',
  '?a',
  `/${'a'.repeat(3000)}`,
  '/../a',
]
const VERSIONS = [
  'HTTP/1.0',
  'HTTP/1.2',
  'HTTP/2.0',
  'HTTP/0.9',
  'http/1.1',
  'HTTP/1.1 ',
  ' HTTP/1.1',
  'HTTP/1.10',
  'HTTP/01.1',
  'HTTP/1',
  '',
  'HTTP/1,1',
  'HTTPS/1.1',
  'ICE/1.0',
  'RTSP/1.0',
]

/** A change of a message; `at` says where, as a part of its length. */
type Change = { readonly kind: keyof typeof CHANGES; readonly at: number; readonly pick: number }

const CHANGES = {
  insert: (text: string, at: number, pick: number) => spliced(text, Math.floor(at * text.length), 0, one(BYTES, pick)),
  replace: (text: string, at: number, pick: number) => spliced(text, Math.floor(at * text.length), 1, one(BYTES, pick)),
  remove: (text: string, at: number, pick: number) => spliced(text, Math.floor(at * text.length), 1 + (pick % 3), ''),
  header: (text: string, at: number, pick: number) => {
    const ends = [...text.matchAll(/\r\n/g)].map(({ index = 0 }) => index + 2)
    return spliced(text, ends[Math.floor(at * ends.length)] ?? 0, 0, `${one(LINES, pick)}\r\n`)
  },
  value: (text: string, at: number, pick: number) => {
    const colons = [...text.matchAll(/: ?/g)]
    const colon = colons[Math.floor(at * colons.length)]
    return spliced(text, (colon?.index ?? 0) + (pick % 2) * (colon?.[0].length ?? 0), 0, one(BYTES, pick >> 1))
  },
  method: (text: string, _at: number, pick: number) => text.replace(/^[^ ]*/, () => one(METHODS, pick)),
  target: (text: string, _at: number, pick: number) => text.replace(/(?<= )[^ ]*(?= )/, () => one(TARGETS, pick)),
  version: (text: string, _at: number, pick: number) => text.replace(/HTTP\/1\.1/, () => one(VERSIONS, pick)),
  lines: (text: string, _at: number, pick: number) =>
    text.replace(pick % 2 === 0 ? /\r\n/g : /\r\n/, pick % 3 === 0 ? '\r' : '\n'),
  before: (text: string, _at: number, pick: number) =>
    one(['\r\n', '\n', '\r', ' ', '\r\n\r\n', '\0', '\ufeff'], pick) + text,
  behind: (text: string, _at: number, pick: number) => text + one([...BYTES, ...TEMPLATES], pick),
  length: (text: string, _at: number, pick: number) =>
    text.replace(/content-length: (\d+)/, (_, length) => `content-length: ${Number(length) + (pick % 9) - 4}`),
  twice: (text: string, at: number, pick: number) => {
    const lines = text.split('\r\n')
    const index = Math.floor(at * lines.length)
    lines.splice(pick % lines.length, 0, lines[index] ?? '')
    return lines.join('\r\n')
  },
}

function one(list: readonly string[], pick: number): string {
  return list[pick % list.length] ?? ''
}

function spliced(text: string, at: number, remove: number, add: string): string {
  return text.slice(0, at) + add + text.slice(at + remove)
}

const change = fc.record<Change>({
  kind: fc.constantFrom(...(Object.keys(CHANGES) as (keyof typeof CHANGES)[])),
  at: fc.float({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
  pick: fc.nat(9999),
})

interface Input {
  readonly text: string
  /** Where it is cut, as parts of its length. */
  readonly cuts: readonly number[]
}

const input = fc
  .record({
    template: fc.constantFrom(...TEMPLATES),
    changes: fc.array(change, { maxLength: 3 }),
    cuts: fc.array(fc.float({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
  })
  .map(({ template, changes, cuts }): Input => {
    const text = changes.reduce((so, { kind, at, pick }) => CHANGES[kind](so, at, pick), template)
    return { text, cuts }
  })

/** Follows each message on its connection; an answer to it shows that the message before ended where both thought. */
const LAST = Buffer.from('GET /last HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')

async function compare(fast: Rig, node: Rig, { text, cuts }: Input): Promise<void> {
  const bytes = Buffer.from(text, 'latin1')
  const points = [0, ...cuts.map(part => Math.floor(part * bytes.length)).sort((a, b) => a - b), bytes.length]
  const pieces = points
    .slice(1)
    .map((end, index) => bytes.subarray(points[index], end))
    .filter(({ length }) => length > 0)
  const [by, reference] = await Promise.all([converse(fast, pieces, LAST), converse(node, pieces, LAST)])
  deepEqual(by.seen, reference.seen.slice(0, by.seen.length))
  // Behind the last request of a connection the fast path reads nothing more; node:http may serve or refuse what it has read.
  if (!/^connection: close\r\n/im.test(by.answers.at(-1) ?? '')) {
    equal(by.refused, reference.refused)
    // A request that cannot be read to its end may be refused before or behind its head.
    const counted = ({ seen }: Outcome): number =>
      by.refused ? seen.filter(({ body }) => body !== undefined).length : seen.length
    equal(counted(by), counted(reference))
  }
  compareAnswers(by, reference)
}

/**
 * When node:http finds something unreadable behind requests, it drops answers that it has not begun. Which ones depends on
 * how their bytes came; the fast path sends those of its own.
 */
function compareAnswers(fast: Outcome, node: Outcome): void {
  const isRefusal = (answer: string): boolean =>
    /^HTTP\/1\.1 4\d\d .*\r\ncontent-type: application\/json\r\n/.test(answer)
  const [ours, theirs] = [fast.answers, node.answers].map(answers => answers.filter(answer => !isRefusal(answer)))
  if (ours === undefined || theirs === undefined) return
  if (!fast.refused && !node.refused) {
    deepEqual(ours, theirs)
  } else {
    const common = Math.min(ours.length, theirs.length)
    deepEqual(ours.slice(0, common), theirs.slice(0, common))
    const [refused, refusal] = [fast, node].map(({ answers }) => answers.find(isRefusal))
    if (refused !== undefined && refusal !== undefined) equal(refused, refusal)
  }
}

let rigs: { fast: Rig; node: Rig }
t.before(async () => {
  rigs = { fast: await startRig(t, 'fast'), node: await startRig(t, 'node') }
})

fuzz<Input>('what the fast path reads, node:http reads alike', {
  inputs: input,
  check: given => compare(rigs.fast, rigs.node, given),
  show: ({ text, cuts }) => `${JSON.stringify(text)} cut at ${cuts.join(', ')}`,
})

t.test('each odd line, method, target and version alone', async t => {
  const [post = '', ...rest] = TEMPLATES
  const texts = [
    ...LINES.map(line => post.replace('\r\n', () => `\r\n${line}\r\n`)),
    ...LINES.map(line => post.replace(/\r\ncontent-length: [\s\S]*?\r\n/, () => `\r\n${line}\r\n`)),
    ...METHODS.map(method => post.replace('POST', () => method)),
    ...TARGETS.map(target => post.replace('/v1/chat/completions', () => target)),
    ...VERSIONS.map(version => post.replace('HTTP/1.1', () => version)),
    ...BYTES.flatMap(bytes => [bytes + post, post + bytes, post.replace('host', () => `host${bytes}`)]),
  ]
  for (const text of [...texts, ...rest]) await compare(rigs.fast, rigs.node, { text, cuts: [] })
  t.pass(`${texts.length} messages`)
})

t.test('each message, cut at every byte', async t => {
  for (const text of TEMPLATES) {
    const cuts = Array.from({ length: text.length }, (_, at) => at / text.length)
    while (cuts.length > 0) {
      const some = cuts.splice(0, 8)
      await Promise.all(some.map(at => compare(rigs.fast, rigs.node, { text, cuts: [at] })))
    }
  }
  const { fast, node } = rigs.fast.counts
  t.ok(fast > 1000 && node > 1000, `both ways are taken: ${fast} on the fast path, ${node} by node:http`)
})
