/**
 * What request smuggling is tried with: messages that two servers in a row could read in two ways, by class. A test puts the
 * number of its run in place of `@@@@`, which keeps the length and makes each message unlike all others.
 */
export interface Payload {
  readonly family: string
  readonly title: string
  /** A character a byte. */
  readonly text: string
  /** What the gateway asks the upstream for it: `first`, `second`. What is hidden in a message is `hidden`: never asked. */
  readonly served: readonly string[]
  /** The bytes from this offset on are sent later than those before it; 0: they are not. */
  readonly cut: number
}

export const CALLER_KEY = 'caller-of-smuggled-requests-1'
export const CHAT_PATH = '/v1/chat/completions'

const EOL = '\r\n'

export const chatBody = (mark: string): string =>
  JSON.stringify({ model: 'm', messages: [{ role: 'user', content: `${mark}-@@@@` }] })

const FIRST = chatBody('first')
const LENGTH = `content-length: ${FIRST.length}`
const CHUNKED = 'transfer-encoding: chunked'
const chunk = (data: string): string => `${data.length.toString(16)}${EOL}${data}${EOL}`
const END = `0${EOL}${EOL}`

interface Parts {
  readonly start?: string
  /** Instead of the usual ones: host, key, content type. */
  readonly fields?: readonly string[]
}

const START = `POST ${CHAT_PATH} HTTP/1.1`
const KEY = `authorization: Bearer ${CALLER_KEY}`
const FIELDS = ['host: gateway', KEY, 'content-type: application/json']

function message(lines: readonly string[], body: string, { start = START, fields = FIELDS }: Parts = {}): string {
  return [start, ...fields, ...lines, '', body].join(EOL)
}

/** A whole request: what another reading of the message before it would find. No front writes its stamp. */
const HIDDEN = message([`content-length: ${chatBody('hidden').length}`, 'x-front: forged'], chatBody('hidden'))
const SECOND = message([`content-length: ${chatBody('second').length}`], chatBody('second'))

const payloads: Payload[] = []

function add(family: string, title: string, text: string, served: readonly string[] = [], cut = 0): void {
  payloads.push({ family, title: shown(title), text, served, cut })
}

function shown(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replace(/[\x7f-\xff]/g, char => `\\x${char.charCodeAt(0).toString(16)}`)
}

/** Lines that some servers read as `transfer-encoding: chunked` and others do not. */
const CODINGS = [
  ...[
    'transfer-encoding: chunked',
    'Transfer-Encoding: chunked',
    'TRANSFER-ENCODING: CHUNKED',
    'transfer-encoding:chunked',
  ],
  ...[
    'transfer-encoding : chunked',
    'transfer-encoding\t: chunked',
    ' transfer-encoding: chunked',
    '\ttransfer-encoding: chunked',
  ],
  ...[
    'transfer-encoding:\tchunked',
    'transfer-encoding:\x0bchunked',
    'transfer-encoding:\x0cchunked',
    'transfer-encoding: \x00chunked',
  ],
  ...[
    'transfer-encoding: chunked ',
    'transfer-encoding: chunked\t',
    'transfer-encoding: chunked\x00',
    'transfer-encoding: chunked\x0b',
  ],
  ...[
    'transfer-encoding: xchunked',
    'transfer-encoding: chunkedx',
    'transfer-encoding: "chunked"',
    "transfer-encoding: 'chunked'",
  ],
  ...['transfer-encoding: chunked;q=1', 'transfer-encoding: chunked, identity', 'transfer-encoding: identity, chunked'],
  ...[
    'transfer-encoding: gzip, chunked',
    'transfer-encoding: chunked, chunked',
    'transfer-encoding: ,chunked',
    'transfer-encoding: chunked,',
  ],
  ...[
    'transfer-encoding: identity',
    'transfer-encoding:',
    'transfer-encoding: \xa0chunked',
    'transfer-encoding\xa0: chunked',
  ],
  ...[
    'transfer-encoding:\r\n chunked',
    'transfer-encoding:\r\n\tchunked',
    'transfer-encoding: x\r\n chunked',
    'x: y\r\n transfer-encoding: chunked',
  ],
  ...[
    'x: y\rtransfer-encoding: chunked',
    'x: y\ntransfer-encoding: chunked',
    'x: y\r\rtransfer-encoding: chunked',
    'x\rtransfer-encoding: chunked',
  ],
  ...[
    'transfer-encoding\n: chunked',
    'transfer-encoding\r\n: chunked',
    'transfer-encoding: chunked\r',
    'transfer-encoding: chunked\n',
  ],
  ...[
    '\x00transfer-encoding: chunked',
    'transfer-\x00encoding: chunked',
    'transfer-encoding\x00: chunked',
    ':transfer-encoding: chunked',
  ],
  ...[
    'transfer-encoding: chunked\r\ntransfer-encoding: identity',
    'transfer-encoding: x\r\ntransfer-encoding: chunked',
  ],
  ...[
    'transfer-encoding: chunked\r\ntransfer-encoding: chunked',
    'transfer-encoding: cow\r\ntransfer-encoding: chunked\r\nx: y',
  ],
]

for (const line of CODINGS) {
  const rest = END + HIDDEN
  add('CL.TE', line, message([`content-length: ${rest.length}`, line], rest))
  add('CL.TE, coding first', line, message([line, `content-length: ${rest.length}`], rest))
  const size = `${HIDDEN.length.toString(16)}${EOL}`
  add('TE.CL', line, message([line, `content-length: ${size.length}`], chunk(HIDDEN) + END))
}

/** Two codings without a length: chunks for one server, nothing or everything for another. */
for (const line of CODINGS.slice(4)) {
  const sound = /^transfer-encoding:\t?[ ]?chunked ?$/.test(line)
  add('TE.TE', line, message([line], chunk(FIRST) + END + (sound ? SECOND : HIDDEN)), sound ? ['first', 'second'] : [])
  add('TE.TE', `chunked, ${line}`, message([CHUNKED, line], chunk(FIRST) + END + HIDDEN))
}

/** Lines of other headers, or of none: the length counts, and what looks like chunks is its body. */
for (const line of [
  'transfer_encoding: chunked',
  'x-transfer-encoding: chunked',
  'transfer-encodin: chunked',
  'content-encoding: chunked',
  'te: chunked',
])
  add('CL.TE, no coding', line, message([`content-length: ${(END + HIDDEN).length}`, line], END + HIDDEN))

/** Lengths that servers read differently. */
const whole = FIRST.length
const more = whole + HIDDEN.length
for (const lines of [
  [`content-length: ${whole}`, `content-length: ${more}`],
  [`content-length: ${more}`, `content-length: ${whole}`],
  [`content-length: ${whole}`, `content-length: ${whole}`],
  [`content-length: ${whole}, ${more}`],
  [`content-length: ${whole}, ${whole}`],
  [`content-length: ${whole},`],
  [`content-length: ,${whole}`],
  [`content-length: +${whole}`],
  [`content-length: -${whole}`],
  [`content-length: 0x${whole.toString(16)}`],
  [`content-length: ${whole} ${more}`],
  [`content-length: ${whole};`],
  [`content-length: ${whole}.0`],
  [`content-length: ${whole}e0`],
  [`content-length: ${whole}_0`],
  [`content-length: "${whole}"`],
  ['content-length:'],
  ['content-length: 1', 'content-length: '],
  [`content-length: ${2n ** 64n + BigInt(whole)}`],
  [`content-length : ${whole}`],
  [`content-length\t: ${whole}`],
  [` content-length: ${whole}`],
  [`content-length:\x0b${whole}`],
  [`content-length: ${whole}\x00`],
  [`content-length: \x00${whole}`],
  [`content-length:\r\n ${whole}`],
  [`content-length: 1\r\n ${whole}`],
  [`content-length: 0\r\n\tx`, `content-length: ${whole}`],
  [`x: y\rcontent-length: ${whole}`],
  [`x: y\ncontent-length: ${whole}`],
  [`x: y\r\n content-length: ${whole}`],
  [`content-length\xa0: ${whole}`],
  [`content-length\x00: ${whole}`],
  [`content-\x00length: ${whole}`],
  [`content-length\r: ${whole}`],
  [`content-length(x): ${whole}`],
  [`"content-length": ${whole}`],
  [`content length: ${whole}`],
  [`: ${whole}`],
  [`content-length`],
])
  add('lengths', lines.join(EOL), message(lines, FIRST + HIDDEN))

for (const zeros of ['0', '00000000'])
  add('lengths', `${zeros} before a length`, message([`content-length: ${zeros}${whole}`], FIRST + SECOND), [
    'first',
    'second',
  ])
// Blanks around a value may be tabs (RFC 9110 §5.6.3); llhttp takes them from 9.4 on.
const takesTabs = Number.parseFloat(process.versions.llhttp ?? '') >= 9.4
const tabbed = takesTabs ? ['first', 'second'] : []
add('lengths', 'tabs around a length', message([`content-length: \t ${whole} \t`], FIRST + SECOND), tabbed)

/** 0.CL and CL.0: bodies where some servers expect none, and requests that are answered before their body is read. */
const body = `content-length: ${HIDDEN.length}`
const BODIES: readonly (readonly [string, string, string])[] = [
  ['by length', body, HIDDEN],
  ['in chunks', CHUNKED, chunk(HIDDEN) + END],
]
const WITHOUT_KEY = ['host: gateway', 'content-type: application/json']
const EARLY: readonly (readonly [string, Parts])[] = [
  ['GET with a body', { start: 'GET /v1/models HTTP/1.1' }],
  ['HEAD with a body', { start: 'HEAD /v1/models HTTP/1.1' }],
  ['DELETE with a body', { start: 'DELETE /v1/files/x HTTP/1.1' }],
  ['OPTIONS with a body', { start: `OPTIONS ${CHAT_PATH} HTTP/1.1` }],
  ['TRACE with a body', { start: 'TRACE / HTTP/1.1' }],
  ['an unknown method', { start: `BREW ${CHAT_PATH} HTTP/1.1` }],
  ['a path of no route', { start: 'POST /nowhere HTTP/1.1' }],
  ['a static page', { start: 'POST / HTTP/1.1' }],
  ['a probe', { start: 'POST /livez HTTP/1.1' }],
  ['a body that is not JSON', {}],
  ['no key', { fields: WITHOUT_KEY }],
  ['a wrong key', { fields: [...WITHOUT_KEY, 'authorization: Bearer wrong'] }],
  ['a content type that is not served', { fields: ['host: gateway', KEY, 'content-type: text/plain'] }],
  ['no host', { fields: [KEY, 'content-type: application/json'] }],
  ['two hosts', { fields: [...FIELDS, 'host: other'] }],
  ['a fold behind the request line', { start: `${START}\r\n x: y` }],
  ['a target that is a URL', { start: `POST http://gateway${CHAT_PATH} HTTP/1.1` }],
  ['a target of another host', { start: `POST http://127.0.0.3${CHAT_PATH} HTTP/1.1` }],
  ['a target with a fragment', { start: `POST ${CHAT_PATH}#x HTTP/1.1` }],
  ['a target of *', { start: 'OPTIONS * HTTP/1.1' }],
  ['HTTP/1.0', { start: `POST ${CHAT_PATH} HTTP/1.0` }],
  ['connection: content-length', { fields: [...FIELDS, 'connection: content-length'] }],
  ['connection: transfer-encoding', { fields: [...FIELDS, 'connection: keep-alive, transfer-encoding'] }],
  ['connection: close', { fields: [...FIELDS, 'connection: close'] }],
  [
    'upgrade: h2c',
    { fields: [...FIELDS, 'connection: upgrade, http2-settings', 'upgrade: h2c', 'http2-settings: AAMAAABk'] },
  ],
  [
    'upgrade: websocket',
    {
      fields: [
        ...FIELDS,
        'connection: upgrade',
        'upgrade: websocket',
        'sec-websocket-version: 13',
        'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
      ],
    },
  ],
  ['upgrade without connection', { fields: [...FIELDS, 'upgrade: websocket'] }],
  ['expect: 100-continue', { fields: [...FIELDS, 'expect: 100-continue'] }],
  ['expect: 100-continue, without a key', { fields: [...WITHOUT_KEY, 'expect: 100-continue'] }],
  ['expect, twice', { fields: [...FIELDS, 'expect: 100-continue', 'expect: 100-continue'] }],
  ['expect: y 100-continue', { fields: [...FIELDS, 'expect: y 100-continue'] }],
  ['expect: 100-continue, folded', { fields: [...FIELDS, 'expect:\r\n 100-continue'] }],
  ['expect: nothing known', { fields: [...FIELDS, 'expect: x'] }],
  ['GET with expect', { start: 'GET /v1/models HTTP/1.1', fields: [...FIELDS, 'expect: 100-continue'] }],
]
for (const [title, parts] of EARLY) {
  for (const [framing, line, data] of BODIES) {
    const text = message([line], data, parts)
    add('early answers', `${title}, ${framing}`, text)
    add('early answers', `${title}, ${framing}, the body later`, text, [], text.length - data.length)
  }
}

/** Chunks that servers read differently. */
const size = whole.toString(16)
const CHUNKS: readonly (readonly [string, string])[] = [
  ['0x before a size', `0x${chunk(FIRST)}${END}`],
  ['a sign before a size', `+${chunk(FIRST)}${END}`],
  ['a minus before a size', `-${chunk(FIRST)}${END}`],
  ['an underscore in a size', `0_${chunk(FIRST)}${END}`],
  ['a space before a size', ` ${chunk(FIRST)}${END}`],
  ['a tab before a size', `\t${chunk(FIRST)}${END}`],
  ['a vertical tab behind a size', `${size}\x0b\r\n${FIRST}\r\n${END}`],
  ['a NUL behind a size', `${size}\x00\r\n${FIRST}\r\n${END}`],
  ['a letter behind a size', `${size}g\r\n${FIRST}\r\n${END}`],
  ['a size of 17 digits', `1000000000000${size.padStart(4, '0')}\r\n${FIRST}\r\n${END}`],
  ['a size of 2^64 and more', `100000000000000${size}\r\n${FIRST}\r\n${END}`],
  ['a size of -1', `ffffffffffffffff\r\n${FIRST}\r\n${END}`],
  ['no size', `\r\n${FIRST}\r\n${END}`],
  ['a bare LF behind a size', `${size}\n${FIRST}\r\n${END}`],
  ['a bare CR behind a size', `${size}\r${FIRST}\r\n${END}`],
  ['a bare LF behind the data', `${size}\r\n${FIRST}\n${END}`],
  ['a bare CR behind the data', `${size}\r\n${FIRST}\r${END}`],
  ['two other bytes behind the data', `${size}\r\n${FIRST}xx${END}`],
  ['nothing behind the data', `${size}\r\n${FIRST}${END}`],
  ['a CR and another byte behind the data', `${size}\r\n${FIRST}\rx${END}`],
  ['a bare LF in an extension', `${size};a\nb\r\n${FIRST}\r\n${END}`],
  ['a bare CR in an extension', `${size};a\rb\r\n${FIRST}\r\n${END}`],
  ['an extension that ends in a bare LF', `${size};\n${FIRST}\r\n${END}`],
  ['an extension that is a fold', `${size};\r\n a=b\r\n${FIRST}\r\n${END}`],
  ['a quoted line end in an extension', `${size};a="\r\n${FIRST}\r\n${END}"\r\n`],
  ['a NUL in an extension', `${size};a=\x00\r\n${FIRST}\r\n${END}`],
  ['a space before an extension', `${size} ;a=b\r\n${FIRST}\r\n${END}`],
  ['an extension over the limit', `${size};a=${'b'.repeat(20_000)}\r\n${FIRST}\r\n${END}`],
  ['a last chunk with a bare LF', `${chunk(FIRST)}0\n\r\n`],
  ['a last chunk with two bare LF', `${chunk(FIRST)}0\n\n`],
  ['a last chunk and a bare LF', `${chunk(FIRST)}0\r\n\n`],
  ['a trailer with a bare LF', `${chunk(FIRST)}0\r\nx: y\n\r\n`],
  ['a trailer with a bare CR', `${chunk(FIRST)}0\r\nx: y\rz\r\n\r\n`],
  ['a folded trailer', `${chunk(FIRST)}0\r\nx: y\r\n z\r\n\r\n`],
  ['a trailer with a space before its colon', `${chunk(FIRST)}0\r\nx : y\r\n\r\n`],
  ['a trailer without a colon', `${chunk(FIRST)}0\r\nx\r\n\r\n`],
  ['a trailer that is a length', `${chunk(FIRST)}0\r\ncontent-length: ${HIDDEN.length}\r\n\r\n`],
  ['a trailer that is a coding', `${chunk(FIRST)}0\r\ntransfer-encoding: chunked\r\n\r\n`],
  ['trailers over the limit', `${chunk(FIRST)}0\r\nx: ${'y'.repeat(40_000)}\r\n\r\n`],
]
for (const [title, data] of CHUNKS) add('chunks', title, message([CHUNKED], data + HIDDEN))

const SOUND_CHUNKS: readonly (readonly [string, string])[] = [
  ['zeros before a size', `0000${chunk(FIRST)}0000${EOL}${EOL}`],
  ['upper case', `${size.toUpperCase()}\r\n${FIRST}\r\n${END}`],
  [
    'many chunks',
    `${FIRST.split(/(?=[:,])/)
      .map(chunk)
      .join('')}${END}`,
  ],
  ['an extension', `${size};a=b\r\n${FIRST}\r\n0;c\r\n\r\n`],
  ['a trailer', `${chunk(FIRST)}0\r\nx: y\r\n\r\n`],
  ['a trailer that is a key', `${chunk(FIRST)}0\r\nauthorization: Bearer wrong\r\nhost: other\r\n\r\n`],
]
for (const [title, data] of SOUND_CHUNKS) add('chunks', title, message([CHUNKED], data + SECOND), ['first', 'second'])
add('chunks', 'a request among the trailers', message([CHUNKED], `${chunk(FIRST)}0\r\n${HIDDEN}`))

/** Heads that servers end, or begin, at different bytes. */
const sound = message([LENGTH], FIRST)
const HEADS: readonly (readonly [string, string])[] = [
  ['bare LF at all lines', [START, ...FIELDS, LENGTH, '', FIRST].join('\n')],
  ['bare CR at all lines', [START, ...FIELDS, LENGTH, '', FIRST].join('\r')],
  ['bare LF behind the request line', sound.replace('HTTP/1.1\r\n', 'HTTP/1.1\n')],
  ['bare CR behind the request line', sound.replace('HTTP/1.1\r\n', 'HTTP/1.1\r')],
  ['bare LF as blank line', message([LENGTH], '').replace(/\r\n$/, `\n${FIRST}`)],
  ['bare CR as blank line', message([LENGTH], '').replace(/\r\n$/, `\r${FIRST}`)],
  ['two bare LF at the end', message([LENGTH], '').replace(/\r\n\r\n$/, `\n\n${FIRST}`)],
  ['CR CR LF at the end', message([LENGTH], '').replace(/\r\n$/, `\r\r\n${FIRST}`)],
  ['a fold at the end', message([LENGTH, ' '], FIRST)],
  ['a space before the method', ` ${sound}`],
  ['a tab in the request line', sound.replace('POST ', 'POST\t')],
  ['a space behind the version', sound.replace('HTTP/1.1', 'HTTP/1.1 ')],
  ['a version of its own', sound.replace('HTTP/1.1', 'HTTP/1.1x')],
  ['HTTP/1.2', sound.replace('HTTP/1.1', 'HTTP/1.2')],
  ['HTTP/2.0', sound.replace('HTTP/1.1', 'HTTP/2.0')],
  ['HTTP/0.9', sound.replace(' HTTP/1.1', '')],
  ['http in lower case', sound.replace('HTTP/1.1', 'http/1.1')],
  ['the preface of HTTP/2', `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n${sound}`],
  ['a NUL in the target', sound.replace(CHAT_PATH, `${CHAT_PATH}\x00`)],
  ['a line end in the target', sound.replace(CHAT_PATH, `${CHAT_PATH}\r\nx: y`)],
  ['a bare CR in the target', sound.replace(CHAT_PATH, `${CHAT_PATH}\rx`)],
  ['a space in the target', sound.replace(CHAT_PATH, `${CHAT_PATH} x`)],
  ['a byte over 0x7f in the target', sound.replace(CHAT_PATH, `${CHAT_PATH}\xff`)],
  ['a target with a line end in percent code', sound.replace(CHAT_PATH, `/v1/models/x%0d%0ax:%20y`)],
  ['a target without a slash', sound.replace(CHAT_PATH, CHAT_PATH.slice(1))],
  ['CONNECT', sound.replace(`POST ${CHAT_PATH}`, 'CONNECT gateway:80')],
  ['lower-case method', sound.replace('POST', 'post')],
  ['an empty name', message([LENGTH, ': x'], FIRST)],
  ['a name without a colon', message([LENGTH, 'x'], FIRST)],
  ['a name with a space', message([LENGTH, 'x y: z'], FIRST)],
  ['a space before a colon', message([LENGTH, 'x : y'], FIRST)],
  ['a name with a byte over 0x7f', message([LENGTH, 'x\xff: y'], FIRST)],
  ['a name with a quote', message([LENGTH, '"x": y'], FIRST)],
  ['a NUL in a value', message([LENGTH, 'x: y\x00z'], FIRST)],
  ['DEL in a value', message([LENGTH, 'x: y\x7fz'], FIRST)],
  ['an escape in a value', message([LENGTH, 'x: y\x1bz'], FIRST)],
  ['a host with a line end', message([LENGTH], FIRST, { fields: ['host: gateway\nx: y', ...FIELDS.slice(1)] })],
  ['a folded host', message([LENGTH], FIRST, { fields: ['host:\r\n gateway', ...FIELDS.slice(1)] })],
]
for (const [title, text] of HEADS) add('heads', title, text + HIDDEN)
// Read alike by all, or by none but the gateway itself: what follows is a request of its own.
add('heads', 'two spaces in the request line', sound.replace('POST ', 'POST  ') + SECOND, ['first', 'second'])
add('heads', 'a target of two slashes', sound.replace(CHAT_PATH, `//gateway${CHAT_PATH}`) + SECOND, ['second'])
const SPLIT = `/x HTTP/1.1\r\nhost: gateway\r\n\r\nPOST ${CHAT_PATH}`
add('heads', 'a request in the target', sound.replace(CHAT_PATH, SPLIT) + SECOND, ['first', 'second'])

/** What follows a request that ends its connection is not served. */
add('rests', 'behind connection: close', message([LENGTH, 'connection: close'], FIRST + HIDDEN), ['first'])
add('rests', 'behind HTTP/1.0', message([LENGTH], FIRST + HIDDEN, { start: `POST ${CHAT_PATH} HTTP/1.0` }), ['first'])
add('rests', 'bytes that are none', message([LENGTH], `${FIRST}\x00\x01\x02`), ['first'])
add('rests', 'half a head', message([LENGTH], `${FIRST}POST ${CHAT_PATH} HTTP/1.1\r\nx: `), ['first'])
add('rests', 'a length without its body', message([`content-length: ${whole + 100_000}`], FIRST + HIDDEN))
add('rests', 'a chunk without its end', message([CHUNKED], `fffff\r\n${FIRST}${HIDDEN}`))
add('rests', 'two requests', message([LENGTH], FIRST) + SECOND, ['first', 'second'])
add('rests', 'two requests, a blank line between', `${message([LENGTH], FIRST)}\r\n${SECOND}`, ['first', 'second'])
add(
  'rests',
  'two requests, the first refused',
  message([`content-length: ${FIRST.length}`], FIRST, { fields: WITHOUT_KEY }) + SECOND,
  ['second'],
)
const MANY = 40
add(
  'rests',
  `${MANY} requests`,
  SECOND.repeat(MANY),
  Array.from({ length: MANY }, () => 'second'),
)
for (const [title, lines] of [
  [
    'a WebSocket',
    [
      'connection: upgrade',
      'upgrade: websocket',
      'sec-websocket-version: 13',
      'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
    ],
  ],
  ['another upgrade', ['connection: upgrade', 'upgrade: h2c']],
  ['CONNECT', []],
] as const) {
  const start = lines.length === 0 ? 'CONNECT gateway:80 HTTP/1.1' : 'GET /v1/realtime?model=m HTTP/1.1'
  const behind = message(lines, HIDDEN, { start, fields: ['host: gateway', KEY] })
  const first = message([LENGTH], FIRST)
  add('rests', `${title} behind a request`, first + behind, ['first'])
  add('rests', `${title} behind a request and its last byte`, first + behind, ['first'], first.length - 1)
  add('rests', `${title} behind a refusal`, message([LENGTH, LENGTH], FIRST) + behind)
}
add('rests', 'broken chunks behind a request', `${message([LENGTH], FIRST)}${message([CHUNKED], `x\r\n${HIDDEN}`)}`, [
  'first',
])
add('rests', 'a body whose text is a request', message([`content-length: ${HIDDEN.length}`], HIDDEN))

/** Parts of a form pass to the upstream as bytes; one of them is a request. */
const PART = [
  '--b',
  'content-disposition: form-data; name="model"',
  '',
  'm',
  '--b',
  'content-disposition: form-data; name="file"; filename="a.wav"',
  '',
  `0${EOL}${EOL}${HIDDEN.replaceAll('hidden-', 'first-')}`,
  '--b--',
  '',
].join(EOL)
const FORM: Parts = {
  start: 'POST /v1/audio/transcriptions HTTP/1.1',
  fields: ['host: gateway', KEY, 'content-type: multipart/form-data; boundary=b'],
}
add('forms', 'a file that is a request, by length', message([`content-length: ${PART.length}`], PART + SECOND, FORM), [
  'first',
  'second',
])
add('forms', 'a file that is a request, in chunks', message([CHUNKED], chunk(PART) + END + SECOND, FORM), [
  'first',
  'second',
])

export const PAYLOADS: readonly Payload[] = payloads

/** Sent behind each of them: a server that has read all of it right answers this one, and closes. */
export const LAST = message(['connection: close'], '', {
  start: 'GET /v1/models HTTP/1.1',
  fields: ['host: gateway', KEY],
})

/** A request of another client. */
export const VICTIM = message([`content-length: ${chatBody('victim').length}`, 'connection: close'], chatBody('victim'))

/** The bytes of one run. */
export function numbered(text: string, run: number): Buffer {
  return Buffer.from(text.replaceAll('@@@@', String(run).padStart(4, '0')), 'latin1')
}
