import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { relaysAnything } from '../helpers/emitted.js'
import { compatibleError } from '../helpers/expect.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'
import { readSources, regexesOf } from '../helpers/source-rules.js'
import { starHeight } from '../helpers/star-height.js'

// Bodies go through as they are, with what no document knows.
relaysAnything()

async function running(t: Test): Promise<{ upstream: RawUpstream; gateway: TestGateway }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  return { upstream, gateway: await startTestGateway(t, oneUpstream(upstream.origin)) }
}

/** Sends exactly this text as the body. */
function post(gateway: TestGateway, text: string | Buffer, path = '/v1/chat/completions'): Promise<Answer> {
  return gateway.request(path, { body: text, method: 'POST' })
}

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')

const MESSAGES = '"messages":[{"role":"user","content":"x"}]'

/** Not JSON, or not what a request may be. */
const REFUSED: readonly (readonly [string, string | Buffer])[] = [
  ['nothing', ''],
  ['white space', ' \n'],
  ['an array', '[]'],
  ['a string', '"x"'],
  ['null', 'null'],
  ['half an object', `{"model":"m",${MESSAGES}`],
  ['a comma too many', `{"model":"m",${MESSAGES},}`],
  ['a missing comma', `{"model":"m" ${MESSAGES}}`],
  ['a comment', `{"model":"m",/* x */${MESSAGES}}`],
  ['single quotes', `{'model':'m',${MESSAGES}}`],
  ['a bare name', `{model:"m",${MESSAGES}}`],
  ['NaN', `{"model":"m",${MESSAGES},"temperature":NaN}`],
  ['a leading zero', `{"model":"m",${MESSAGES},"temperature":01}`],
  ['a lone point', `{"model":"m",${MESSAGES},"temperature":1.}`],
  ['a plus sign', `{"model":"m",${MESSAGES},"temperature":+1}`],
  ['two documents', `{"model":"m",${MESSAGES}}{}`],
  ['text after it', `{"model":"m",${MESSAGES}}x`],
  ['a raw line end in a string', `{"model":"m\n",${MESSAGES}}`],
  ['a raw line end behind 1,024 characters', `{"model":"m",${MESSAGES},"user":"${'x'.repeat(1024)}\n"}`],
  ['a raw NUL behind 100,000 characters', `{"model":"m",${MESSAGES},"user":"${'x'.repeat(100_000)}\0"}`],
  ['a bad escape', `{"model":"\\x6d",${MESSAGES}}`],
  ['half a unicode escape', `{"model":"\\u00",${MESSAGES}}`],
  ['a byte order mark', Buffer.from(`\ufeff{"model":"m",${MESSAGES}}`)],
  ['a byte that is no UTF-8 outside a string', Buffer.from([0x7b, 0xff, 0x7d])],
  ['model twice', `{"model":"m","model":"other",${MESSAGES}}`],
  ['model twice, once escaped', `{"model":"m","mod\\u0065l":"other",${MESSAGES}}`],
  ['stream twice', `{"model":"m","stream":false,"stream":true,${MESSAGES}}`],
  ['stream once more, folded as some parsers do', `{"model":"m","\ufb06ream":true,${MESSAGES}}`],
  [
    'stream once more, folded, in a large body',
    `{"model":"m","\ufb06ream":true,"user":"${'x'.repeat(2000)}",${MESSAGES}}`,
  ],
  ['model once more, in wide letters', `{"model":"m","\uff4dodel":"other",${MESSAGES}}`],
  ['model once more, with a dash', `{"model":"m","mod-el":"other",${MESSAGES}}`],
  ['a model that is a number', `{"model":1,${MESSAGES}}`],
  ['a model that is an object', `{"model":{"m":1},${MESSAGES}}`],
  ['no model', `{${MESSAGES}}`],
  ['an empty model', `{"model":"",${MESSAGES}}`],
  ['a model of 257 characters', `{"model":"${'m'.repeat(257)}",${MESSAGES}}`],
  ['a stream that is a string', `{"model":"m","stream":"true",${MESSAGES}}`],
  ['messages that are no list', '{"model":"m","messages":{}}'],
  ['depth 65', `{"model":"m",${MESSAGES},"metadata":${'{"a":'.repeat(64)}1${'}'.repeat(65)}`],
  ['depth 100000', `{"model":"m",${MESSAGES},"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
  ['depth 1000000, never closed', `{"model":"m",${MESSAGES},"x":${'['.repeat(1_000_000)}`],
  [
    'ten thousand and one members',
    `{"model":"m",${MESSAGES},"x":{${Array.from({ length: 10_001 }, (_, i) => `"k${i}":1`)}}}`,
  ],
]

for (const [title, text] of REFUSED) {
  t.test(`F-C11 a body with ${title} is 400, and the upstream sees nothing`, async t => {
    const { gateway, upstream } = await running(t)
    compatibleError(t, await post(gateway, text), 400)
    t.equal(upstream.requests.items.length, 0)
    t.equal(({} as { polluted?: unknown }).polluted, undefined)
  })
}

/** Odd, but JSON: it reaches the upstream byte for byte. */
const PASSED: readonly (readonly [string, string | Buffer])[] = [
  ['a lone surrogate', `{"model":"m","user":"\\ud800",${MESSAGES}}`],
  ['__proto__', `{"model":"m","__proto__":{"polluted":1},${MESSAGES}}`],
  ['constructor', `{"model":"m","constructor":{"prototype":{"polluted":1}},${MESSAGES}}`],
  [
    'a number that no double holds',
    `{"model":"m","seed":123456789012345678901234567890,"x":1e999,"y":-0.0,${MESSAGES}}`,
  ],
  ['white space all over', `\r\n\t { "model" : "m" ,\n${MESSAGES} }\n\n`],
  ['members that no one knows', `{"model":"m","x_unknown":{"b":[1,{"c":null}]},${MESSAGES}}`],
  ['a member twice that decides nothing', `{"model":"m","user":"a","user":"b",${MESSAGES}}`],
  ['escapes', `{"model":"\\u006d","user":"\\/\\b\\f\\n\\r\\t\\"\\\\\\u00e9é\\ud83d\\ude00",${MESSAGES}}`],
  [
    'escapes behind bytes that are no UTF-8',
    latin1(`{"model":"m","user":"${'x'.repeat(60)}\xf0${'\\\\'.repeat(600)}",${MESSAGES}}`),
  ],
  ['a long list', `{"model":"m","stop":null,"x":[${'1,'.repeat(200_000)}1],${MESSAGES}}`],
  ['depth 60', `{"model":"m",${MESSAGES},"x":${'['.repeat(59)}${']'.repeat(59)}}`],
]

for (const [title, text] of PASSED) {
  t.test(`F-C11 a body with ${title} reaches the upstream byte for byte`, async t => {
    const { gateway, upstream } = await running(t)
    const answer = await post(gateway, text)
    t.equal(answer.status, 200, answer.text)
    t.same(upstream.requests.items[0]?.body, Buffer.from(text))
    t.equal(({} as { polluted?: unknown }).polluted, undefined, 'no prototype was changed')
  })
}

t.test('F-C11 a header called __proto__ does no harm', async t => {
  const { gateway } = await running(t)
  for (const name of ['__proto__', 'constructor', 'hasOwnProperty', 'toString'])
    t.equal((await gateway.chat({}, { headers: { [name]: 'x' } })).status, 200, name)
  t.equal((await gateway.chat({ model: '__proto__' })).status, 404)
  t.equal((await gateway.chat({ model: 'constructor' })).status, 404)
  t.equal((await gateway.request('/v1/models/__proto__')).status, 404)
  t.equal((await gateway.request('/__proto__')).status, 404)
  t.equal((await gateway.chat({}, { key: '__proto__' })).status, 401)
})

t.test('F-C12 no regular expression of src nests unbounded quantifiers', async t => {
  t.equal(starHeight('^(a+)*$'), 2, 'the check can fail')
  t.equal(starHeight('(?:[^)*]+|\\(+){2,}'), 2)
  t.equal(starHeight('(?:-\\s*-*)*'), 2)
  t.equal(starHeight('^[a*+]+(b|c)?\\*\\+$'), 1)
  t.equal(starHeight('(?:-\\s+)*x'), 1)
  const bad = readSources(packageRoot(), ['src', 'simulator/src']).flatMap(source =>
    regexesOf(source)
      .filter(regex => starHeight(regex.source) > 1)
      .map(regex => `${source.path}:${regex.line} ${regex.source}`),
  )
  t.same(bad, [])
})

t.test('F-C12 megabytes of one character are answered all the same', async t => {
  const { gateway } = await running(t)
  const long = 1024 * 1024
  for (const text of [
    'a'.repeat(long),
    '\\\\'.repeat(long / 2),
    ' '.repeat(long),
    '"'
      .repeat(8)
      .replaceAll('"', '\\"')
      .repeat(long / 16),
  ])
    t.equal((await post(gateway, `{"model":"m","messages":[{"role":"user","content":"${text}"}]}`)).status, 200)
  t.equal((await post(gateway, `{"model":"${'*'.repeat(256)}",${MESSAGES}}`)).status, 404)
  t.equal((await post(gateway, `{"model":"${'a'.repeat(long)}",${MESSAGES}}`)).status, 400)
  t.equal((await gateway.request(`/v1/models/${'*a'.repeat(2000)}`)).status, 404)
  t.equal((await gateway.request(`/${'/'.repeat(4000)}`)).status, 404)
  t.equal((await gateway.chat({}, { key: 'a '.repeat(4000) })).status, 401)
})

/** Names that would mean something in a header, a path or a log line. */
const NAMES = [
  'm\r\nx-injected: 1',
  'm\nset-cookie: a=b',
  'm\0',
  'm\u0085',
  'm\u2028',
  '\ud800',
  'é',
  '東京',
  '<script>',
  '"};--',
  '{{env}}',
  '%0d%0a',
]

t.test('F-C13 a model name cannot inject anything', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const speaks = 'speaks: { chat: "POST /deployments/{model}/chat" }'
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: { base: "${upstream.origin}", ${speaks} } }\nmodels: { "*": up }\n`
  const gateway = await startTestGateway(t, yaml)
  for (const model of NAMES) {
    const answer = await gateway.chat({ model })
    t.notMatch(
      answer.head.raw.toString('latin1'),
      /x-injected|set-cookie/,
      JSON.stringify([...model].map(one => one.codePointAt(0))),
    )
    t.ok(
      [200, 400, 404].includes(answer.status),
      `${JSON.stringify([...model].map(one => one.codePointAt(0)))}: ${answer.status}`,
    )
  }
  for (const request of upstream.requests.items) {
    t.match(request.target, /^\/deployments\/[\w.%~!*'()-]+\/chat$/)
    t.notMatch(request.head.raw.toString('latin1'), /^(x-injected|set-cookie)/im)
  }
})

t.test('F-C13 a request id that is not a plain word is replaced', async t => {
  const { gateway, upstream } = await running(t)
  t.equal((await gateway.chat({}, { headers: { 'x-request-id': 'mine-1' } })).header('x-request-id'), 'mine-1')
  t.equal(upstream.requests.items[0]?.header('x-request-id'), 'mine-1')
  for (const id of ['a b', 'a"b', 'x'.repeat(500), 'é', '{}', 'a\tb', 'a;b']) {
    const answer = await gateway.chat({}, { headers: { 'x-request-id': id } })
    t.match(answer.header('x-request-id'), /^[\w-]{8,}$/, JSON.stringify(id))
  }
  for (const request of upstream.requests.items) t.match(request.header('x-request-id'), /^[\w-]+$/)
})

const SEGMENTS = [
  '..',
  '.',
  '...',
  '../x',
  './x',
  'x/..',
  'x/../y',
  '/x',
  'x/',
  '//x',
  '\\..\\x',
  '..\\',
  'x?y=1',
  'x#y',
  'x;y',
  'x:y',
  'x%y',
  'x%2fy',
  '%2e%2e',
  '%2e%2e%2fx',
  '%252e%252e%252f',
  '\u002e\u2024',
  '．．／',
  'x\u0000',
  ' ',
  'x y',
  '~',
  '@',
  'http://127.0.0.3/',
  '//127.0.0.3/',
]

t.test('F-C14 a model in the path stays one segment of it', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  const speaks = 'speaks: { chat: "POST /deployments/{model}/chat?v=1" }'
  const yaml = `version: 1\n${CALLER}\nupstreams: { up: { base: "${upstream.origin}/base", ${speaks} } }\nmodels: { "*": up }\n`
  const gateway = await startTestGateway(t, yaml)
  for (const model of SEGMENTS) {
    const before = upstream.requests.items.length
    const { status } = await gateway.chat({ model })
    const target = upstream.requests.items[before]?.target
    if (target === undefined) t.ok([400, 404].includes(status), `${model}: ${status}`)
    else oneSegment(t, target, '/base/deployments/', '/chat?v=1', model)
  }
})

t.test('F-C14 a path parameter stays one segment of the upstream path', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json({}))
  const yaml = `version: 1
${CALLER}
upstreams: { up: { base: "${upstream.origin}/base", speaks: { papers: "GET /v1/papers/{id}/content" } } }
models: {}
protocols: { papers: {} }
routes:
  "GET /v1/papers/{id}/content": { protocol: papers, upstream: up, caller: { in: header, name: authorization, scheme: Bearer } }
`
  const gateway = await startTestGateway(t, yaml)
  const good = await gateway.request('/v1/papers/file-1/content')
  t.equal(good.status, 200, good.text)
  const encoded = SEGMENTS.flatMap(one => [
    encodeURIComponent(one),
    encodeURIComponent(encodeURIComponent(one)),
    one.replaceAll('.', '%2e'),
  ])
  const byHand = ['%c0%ae%c0%ae', '%u002e', '%', '%2', '%zz', '%ff', '..%00', '%2e%2e%5c', '..;', '%2e%2e;x']
  for (const segment of [...encoded, ...byHand].filter(one => /^[\x21-\x7e]+$/.test(one))) {
    const before = upstream.requests.items.length
    const { status } = await gateway.request(`/v1/papers/${segment}/content`)
    const target = upstream.requests.items[before]?.target
    if (target === undefined) t.ok([400, 404, 405].includes(status), `${segment}: ${status}`)
    else oneSegment(t, target, '/base/v1/papers/', '/content', segment)
  }
})

/** The path is the configured one with one segment filled in, however often it is decoded. */
function oneSegment(t: Test, target: string, before: string, after: string, from: string): void {
  t.ok(target.startsWith(before) && target.endsWith(after), `${from} → ${target}`)
  const segment = target.slice(before.length, target.length - after.length)
  t.notMatch(segment, /[/?#\\]/, `${from} → ${target}`)
  t.notOk(['.', '..', ''].includes(decodeURIComponent(segment)), `${from} → ${target}`)
  const { pathname, search } = new URL(target, 'http://upstream')
  t.equal(pathname + search, target, 'nothing to normalise')
}

proveNoLeak(t)
