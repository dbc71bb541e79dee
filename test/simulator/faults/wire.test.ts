import { once } from 'node:events'
import { createServer } from 'node:net'
import { brotliDecompressSync, gunzipSync, inflateSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { Simulator } from '../../../simulator/src/index.js'
import { CHAT, chatBody, dataOf, exchange, open, post, type Received, simulator } from '../support.js'

/** A whole answer, or a stream of `tokens=5`: a role, five tokens, a finish and `[DONE]`, eight events in all. */
function ask(upstream: Simulator, faults: string, stream: boolean, more: object = {}): Promise<Received> {
  return post(upstream, CHAT, chatBody(`sim-text?tokens=5&${faults}`, { stream, ...more }))
}

const EVENTS = 8

async function both(t: Test, faults: string): Promise<{ whole: Received; stream: Received }> {
  const upstream = await simulator(t)
  return { whole: await ask(upstream, faults, false), stream: await ask(upstream, faults, true) }
}

t.test('without a fault: a whole body with its length, or a stream with its end', async t => {
  const { whole, stream } = await both(t, '')
  t.match(whole, { status: 200, broken: undefined, headers: { 'content-length': String(whole.body.length) } })
  t.match(stream, { status: 200, broken: undefined, headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
  t.equal(dataOf(stream.text).length, EVENTS)
  t.ok(stream.text.endsWith('data: [DONE]\n\n'))
})

t.test('status: an error in the shape and the usual words of its status, streamed or not', async t => {
  const { whole, stream } = await both(t, 'status=503')
  for (const answer of [whole, stream]) {
    t.match(answer, { status: 503, headers: { 'content-type': 'application/json' } })
    t.match(JSON.parse(answer.text), { error: { type: 'server_error', message: String, param: null, code: null } })
  }
})

t.test('status below 400: the answer itself, under that status', async t => {
  const { whole } = await both(t, 'status=201')
  t.equal(whole.status, 201)
  t.match(JSON.parse(whole.text), { object: 'chat.completion' })
})

t.test('retry-after, as seconds, as milliseconds and as a date', async t => {
  const upstream = await simulator(t)
  const headers = async (faults: string) => (await ask(upstream, `status=429&${faults}`, false)).headers
  t.match(await headers('retry-after=2'), { 'retry-after': '2' })
  t.match(await headers('retry-after-ms=1500'), { 'retry-after-ms': '1500' })
  const date = (await headers('retry-after-date=60'))['retry-after'] ?? ''
  t.equal(new Date(date).toUTCString(), date)
})

t.test('echo-key: the error quotes the credential', async t => {
  const upstream = await simulator(t)
  const headers = { authorization: 'Bearer a-secret-of-the-test' }
  const answer = await post(upstream, CHAT, chatBody('sim-text?status=401&echo-key'), headers)
  t.match(JSON.parse(answer.text).error.message, 'Bearer a-secret-of-the-test')
})

t.test('redirect: 302 with the location', async t => {
  const { whole } = await both(t, 'redirect=http%3A%2F%2F127.0.0.3%2Felsewhere')
  t.match(whole, { status: 302, headers: { location: 'http://127.0.0.3/elsewhere' } })
})

t.test('html and empty: 200 with a body that is not an answer', async t => {
  const upstream = await simulator(t)
  t.match(await ask(upstream, 'html', true), { status: 200, headers: { 'content-type': /html/ }, text: /<html>/ })
  t.match(await ask(upstream, 'empty', true), { status: 200, text: '', headers: { 'content-length': '0' } })
})

t.test('malformed: JSON that breaks off, in the body or in the second event', async t => {
  const { whole, stream } = await both(t, 'malformed')
  t.throws(() => JSON.parse(whole.text))
  const [first = '', second = '', third = ''] = dataOf(stream.text)
  t.doesNotThrow(() => JSON.parse(first))
  t.throws(() => JSON.parse(second))
  t.doesNotThrow(() => JSON.parse(third))
})

t.test('big-line: a string or a line of that size', async t => {
  const { whole, stream } = await both(t, 'big-line=200KiB')
  t.equal(JSON.parse(whole.text).padding.length, 204_800)
  t.match(JSON.parse(whole.text), { object: 'chat.completion' })
  t.equal(JSON.parse(dataOf(stream.text)[1] ?? '').padding.length, 204_800)
})

t.test('reset: the connection is reset before anything is answered', async t => {
  const upstream = await simulator(t)
  await t.rejects(ask(upstream, 'reset', false), { code: 'ECONNRESET' })
})

t.test('reset-after: the head and so many events, then a reset', async t => {
  const upstream = await simulator(t)
  for (const events of [0, 1, 3, EVENTS]) {
    const answer = await ask(upstream, `reset-after=${events}`, true)
    t.match(answer, { status: 200, broken: 'ECONNRESET' })
    t.equal(dataOf(answer.text).length, events)
  }
})

t.test('reset-after in a body that is sent whole: after the head, or in its middle', async t => {
  const upstream = await simulator(t)
  const head = await ask(upstream, 'reset-after=0', false)
  t.match(head, { status: 200, broken: 'ECONNRESET', text: '' })
  const middle = await ask(upstream, 'reset-after=1', false)
  t.equal(middle.body.length, Math.floor(Number(middle.headers['content-length']) / 2))
})

t.test('cut-after: the connection closes in the middle of the transfer', async t => {
  const { stream } = await both(t, 'cut-after=2')
  t.equal(dataOf(stream.text).length, 2)
  t.ok(stream.broken)
})

t.test('fin-after: the transfer ends properly, the stream does not', async t => {
  const { whole, stream } = await both(t, 'fin-after=2')
  t.equal(dataOf(stream.text).length, 2)
  t.equal(stream.broken, undefined)
  t.ok(whole.broken, 'a body with a length cannot end short of it')
})

t.test('error-after: so many events, then an error as an event, and no terminator', async t => {
  const { stream } = await both(t, 'error-after=2')
  const data = dataOf(stream.text)
  t.equal(data.length, 3)
  t.match(JSON.parse(data[2] ?? ''), { error: { message: String, type: 'server_error' } })
  t.equal(stream.broken, undefined)
})

t.test('more events than there are: nothing breaks', async t => {
  const { stream } = await both(t, 'reset-after=500')
  t.equal(stream.broken, undefined)
  t.ok(stream.text.endsWith('[DONE]\n\n'))
})

t.test('no-terminator and double-done', async t => {
  const upstream = await simulator(t)
  t.equal(dataOf((await ask(upstream, 'no-terminator', true)).text).length, EVENTS - 1)
  t.same(dataOf((await ask(upstream, 'double-done', true)).text).slice(-2), ['[DONE]', '[DONE]'])
})

t.test('trailing: bytes after the end', async t => {
  const { whole, stream } = await both(t, 'trailing=10')
  t.ok(stream.text.endsWith('[DONE]\n\nxxxxxxxxxx'))
  t.ok(whole.text.endsWith('}xxxxxxxxxx'))
  t.equal(whole.broken, undefined)
})

t.test('comments before each event', async t => {
  const { stream } = await both(t, 'comments=2')
  t.equal(stream.text.split(': a comment\n\n').length - 1, EVENTS * 2)
})

t.test('framing: the same events written otherwise', async t => {
  const upstream = await simulator(t)
  const body = chatBody('sim-text', { stream: true })
  const bytes = async (framing: string) => (await post(upstream, CHAT, body, { 'x-simulate': framing })).body
  const plain = String(await bytes(''))
  const same = (text: string) => t.equal(text, plain)
  same(String(await bytes('framing=crlf')).replaceAll('\r\n', '\n'))
  same(String(await bytes('framing=cr')).replaceAll('\r', '\n'))
  same(String((await bytes('framing=bom')).subarray(3)))
  same(String(await bytes('framing=no-space')).replaceAll('data:', 'data: '))
  same(String(await bytes('framing=fields')).replaceAll('id: 1\nretry: 1000\nunknown\nnovel: field\n', ''))
  t.ok((await bytes('framing=invalid-utf8')).includes(0xff))
  t.ok((await bytes('framing=nul')).includes(0))
})

t.test('truncate: fewer bytes than were promised', async t => {
  const { whole } = await both(t, 'truncate=10')
  t.equal(whole.body.length, 10)
  t.ok(Number(whole.headers['content-length']) > 10)
  t.ok(whole.broken)
})

t.test('overrun: more bytes than were promised', async t => {
  const upstream = await simulator(t)
  const body = JSON.stringify(chatBody('sim-text?overrun=4'))
  const head = `POST ${CHAT} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`
  const { text } = await exchange(upstream, head + body)
  t.ok(text.endsWith('}xxxx'))
  t.equal(Number(/content-length: (\d+)/.exec(text)?.[1]), text.split('\r\n\r\n')[1]!.length - 4)
})

t.test('encoding: the body, compressed unasked', async t => {
  const upstream = await simulator(t)
  const unpack = { gzip: gunzipSync, deflate: inflateSync, br: brotliDecompressSync } as const
  for (const [name, inflate] of Object.entries(unpack)) {
    const whole = await ask(upstream, `encoding=${name}`, false)
    t.equal(whole.headers['content-encoding'], name)
    t.match(JSON.parse(String(inflate(whole.body))), { object: 'chat.completion' })
    const stream = await ask(upstream, `encoding=${name}`, true)
    t.equal(dataOf(String(inflate(stream.body))).length, EVENTS)
  }
})

t.test('bomb: a small body that unpacks to a large one', async t => {
  const { whole } = await both(t, 'bomb=10MiB')
  t.equal(whole.headers['content-encoding'], 'gzip')
  t.ok(whole.body.length < 20_000)
  t.equal(gunzipSync(whole.body).length, 10 * 2 ** 20)
})

t.test('encoding-layers: a header that claims them', async t => {
  const { whole } = await both(t, 'encoding-layers=1000')
  t.equal(whole.headers['content-encoding']?.split(', ').length, 1000)
})

t.test('headers: a big one, many, or those that may not be forwarded', async t => {
  const upstream = await simulator(t)
  t.equal((await ask(upstream, 'headers=big', false)).headers['x-big']?.length, 61_440)
  t.ok((await ask(upstream, 'headers=many', false)).rawHeaders.length > 400)
  const hop = (await ask(upstream, 'headers=hop', false)).headers
  t.match(hop, {
    'set-cookie': [/session/, /other/],
    'proxy-authenticate': String,
    'x-hop': String,
    connection: /x-hop/,
  })
})

t.test('early-hints: 102 and 103 before the head', async t => {
  const { whole } = await both(t, 'early-hints')
  t.same(whole.informational, [102, 103])
  t.equal(whole.status, 200)
})

t.test('trailers after a chunked body', async t => {
  const { whole, stream } = await both(t, 'trailers')
  t.match(whole, { trailers: { 'x-trailer': 'simulator' }, headers: { 'transfer-encoding': 'chunked' } })
  t.match(stream, { trailers: { 'x-trailer': 'simulator' } })
})

t.test('raw: answers that HTTP forbids', async t => {
  const upstream = await simulator(t)
  const raw = async (name: string) => {
    const body = JSON.stringify(chatBody(`sim-text?raw=${name}`))
    return (
      await exchange(upstream, `POST ${CHAT} HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
    ).text
  }
  t.match(await raw('both-lengths'), /content-length: 2\r\ntransfer-encoding: chunked/)
  t.match(await raw('bad-status'), /^HTTP\/1\.1 2OO/)
  t.match(await raw('bad-header'), 'x bad: c')
  t.match(await raw('not-http'), /^SSH/)
})

t.test('split: the same bytes in pieces', async t => {
  const { whole, stream } = await both(t, 'split=1')
  t.match(JSON.parse(whole.text), { object: 'chat.completion' })
  t.equal(dataOf(stream.text).length, EVENTS)
})

t.test('usage: left out or spoiled', async t => {
  const upstream = await simulator(t)
  const usage = async (kind: string) => JSON.parse((await ask(upstream, `usage=${kind}`, false)).text).usage
  t.equal(await usage('none'), undefined)
  t.match(await usage('negative'), { completion_tokens: -6, prompt_tokens_details: { cached_tokens: -1 } })
  t.match(await usage('huge'), { completion_tokens: 1e300 })
  t.match(await usage('text'), { completion_tokens: '5' })
})

t.test('hang: no answer, until the client goes', async t => {
  const upstream = await simulator(t)
  const sent = open(upstream.port, CHAT, {}, 'POST', () => t.fail('answered'))
  sent.on('error', () => {})
  sent.end(JSON.stringify(chatBody('sim-text?hang')))
  const entry = await arrived(upstream)
  sent.destroy()
  await entry.closed
  t.match(entry, { aborted: true, status: 0, bytesSent: 0 })
})

t.test('hang-after: so many events, then silence, or pings where they were asked for', async t => {
  const upstream = await simulator(t)
  for (const [faults, wanted] of [
    ['hang-after=2', /"content":"\w+"[^\n]*\n\n$/],
    ['hang-after=2&pings', /: ping\n\n: ping\n\n$/],
  ] as const) {
    const text = await new Promise<string>(resolve => {
      const sent = open(upstream.port, CHAT, {}, 'POST', response => {
        let text = ''
        response.on('error', () => {})
        response.on('data', chunk => {
          text += chunk
          if (!wanted.test(text)) return
          sent.destroy()
          resolve(text)
        })
      })
      sent.end(JSON.stringify(chatBody(`sim-text?tokens=5&${faults}`, { stream: true })))
    })
    t.equal(dataOf(text).length, 2)
    await upstream.received.at(-1)?.closed
    t.equal(upstream.received.at(-1)?.aborted, true)
  }
})

t.test('early: the answer comes before the upload has ended', async t => {
  const upstream = await simulator(t)
  const headers = { 'x-simulate': 'early status=413', 'content-length': '1000000' }
  const sent = open(upstream.port, CHAT, headers, 'POST', () => {})
  sent.on('error', () => {})
  sent.write('{')
  const [response] = await once(sent, 'response')
  t.equal(response.statusCode, 413)
  sent.destroy()
})

t.test('no-read: the upload is never read', async t => {
  const upstream = await simulator(t)
  const sent = open(upstream.port, CHAT, { 'x-simulate': 'no-read' }, 'POST', () => t.fail('answered'))
  sent.on('error', () => {})
  const full = Buffer.alloc(1024 * 1024)
  for (let sentBytes = 0; sentBytes < 64 && sent.write(full); sentBytes += 1);
  const entry = await arrived(upstream)
  t.match(entry, { size: 0, status: 0 })
  sent.destroy()
})

t.test('latency, jitter and pace only take time', async t => {
  const { whole, stream } = await both(t, 'latency=1ms&jitter=1ms&pace=1ms')
  t.equal(whole.status, 200)
  t.equal(dataOf(stream.text).length, EVENTS)
})

t.test('reasoning: the model reasons unasked and refuses the older limit', async t => {
  const { whole } = await both(t, 'reasoning')
  t.ok(JSON.parse(whole.text).usage.completion_tokens_details.reasoning_tokens > 0)
  const upstream = await simulator(t)
  const refused = await ask(upstream, 'reasoning', false, { max_tokens: 5 })
  t.match(refused, { status: 400 })
  t.match(JSON.parse(refused.text).error, { code: 'unsupported_parameter', param: 'max_tokens' })
  t.equal((await ask(upstream, 'reasoning', false, { max_completion_tokens: 5 })).status, 200)
})

t.test('times: the first attempts fail, the next succeeds', async t => {
  const upstream = await simulator(t)
  const statuses = []
  for (let attempt = 0; attempt < 3; attempt += 1)
    statuses.push((await ask(upstream, 'status=503&times=2', false)).status)
  t.same(statuses, [503, 503, 200])
})

t.test('a header asks for faults in every request; the name of the model goes before', async t => {
  const upstream = await simulator(t)
  const headers = { 'x-simulate': 'status=500' }
  t.equal((await post(upstream, CHAT, chatBody(), headers)).status, 500)
  t.equal((await post(upstream, CHAT, chatBody('sim-text?status=429'), headers)).status, 429)
  t.equal((await post(upstream, '/v1/nowhere', {}, headers)).status, 500)
})

t.test('an unknown fault, in a model or a header, is refused with the names of those there are', async t => {
  const upstream = await simulator(t)
  for (const answer of [
    await post(upstream, CHAT, chatBody('sim-text?wat')),
    await post(upstream, CHAT, chatBody(), { 'x-simulate': 'wat' }),
  ]) {
    t.match(answer, { status: 400 })
    t.match(JSON.parse(answer.text).error, { code: 'unknown_fault', message: /latency, jitter, .*trailers/ })
  }
})

t.test('a slow reader holds the simulator back', async t => {
  const upstream = await simulator(t)
  const sent = open(upstream.port, CHAT, {}, 'POST', response => response.pause())
  sent.on('error', () => {})
  sent.end(JSON.stringify(chatBody('sim-text?big-line=2GiB', { stream: true })))
  const [response] = await once(sent, 'response')
  const entry = await arrived(upstream)
  const held = await settled(() => entry.bytesSent)
  t.ok(held < 64 * 2 ** 20, `${held} bytes were written for a reader that reads nothing`)
  response.resume()
  while (entry.bytesSent <= held) await new Promise(setImmediate)
  sent.destroy()
  await entry.closed
  t.ok(entry.aborted)
})

t.test('close cuts what still hangs', async t => {
  const upstream = await simulator(t)
  const failed = post(upstream, CHAT, chatBody('sim-text?hang'))
  await arrived(upstream)
  await upstream.close()
  await t.rejects(failed)
  await upstream.close()
  const free = createServer().listen(upstream.port, '127.0.0.1')
  await once(free, 'listening')
  free.close()
})

async function arrived({ received }: Simulator) {
  for (;;) {
    const entry = received.at(-1)
    if (entry !== undefined) return entry
    await new Promise(setImmediate)
  }
}

/** The number when it has not changed for a thousand turns of the event loop. */
async function settled(number: () => number): Promise<number> {
  let last = number()
  for (let turns = 0; turns < 1000; turns += 1) {
    await new Promise(setImmediate)
    if (number() !== last) [last, turns] = [number(), 0]
  }
  return last
}
