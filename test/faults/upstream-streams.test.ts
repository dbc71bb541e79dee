import t, { type Test } from 'tap'
import {
  brokenStream,
  chatEvent,
  chunk,
  DONE,
  finish,
  hang,
  json,
  LAST_CHUNK,
  reset,
  startStream,
  stream,
} from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import { compatibleError, eventsOf, streamError } from '../helpers/expect.js'
import { CALLER, oneUpstream, startTestGateway, type TestGateway, upstreamYaml } from '../helpers/gateway.js'
import type { Answer } from '../helpers/raw-client.js'
import { type Script, startRawUpstream } from '../helpers/raw-upstream.js'

const THREE = [chatEvent('one'), chatEvent('two'), chatEvent('three')]

/** What a client gets that asks for a stream while the upstream plays this script. */
async function streamed(t: Test, script: Script, more = ''): Promise<{ answer: Answer; gateway: TestGateway }> {
  const upstream = await startRawUpstream(t)
  upstream.answer(script)
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin, more))
  return { answer: await gateway.chat({ stream: true }), gateway }
}

const ENDS: readonly (readonly [string, Script])[] = [
  ['F-U6 a reset mid-stream', reset],
  ['F-U8 a connection that ends without the last chunk', finish],
  ['F-U8 a transfer that ends well without its last event', peer => peer.send(LAST_CHUNK)],
]

for (const [title, last] of ENDS) {
  t.test(`${title} ends with an error event; what was delivered stays`, async t => {
    const { answer, gateway } = await streamed(t, brokenStream(THREE, last))
    t.equal(streamError(t, answer).code, 'upstream_truncated')
    t.ok(answer.text.startsWith(THREE.join('')), 'all three events came through')
    t.equal(eventsOf(answer.text).length, 4)
    const line = await gateway.log.find(line => line.msg === 'request')
    t.match(line, { truncated: true, events: 3, outcome: 'upstream_error' })
  })
}

const choice = (finish_reason: string | null, delta: object = {}): object => ({ index: 0, delta, finish_reason })
const STOPPED = `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [choice('stop')] })}\n\n`
const COUNTED = 'data: {"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":3}}\n\n'

for (const rest of [[STOPPED], [STOPPED, COUNTED], [`${STOPPED.trimEnd()}\n`]]) {
  t.test('a chat stream without [DONE] is whole after a finish_reason and a clean end', async t => {
    const { answer, gateway } = await streamed(t, stream([...THREE, ...rest]))
    t.equal(answer.text, `${[...THREE, ...rest].join('').trimEnd()}\n\n`, 'the last event has its blank line')
    const line = await gateway.log.find(line => line.msg === 'request')
    t.match(line, { outcome: 'ok', truncated: undefined })
  })
}

t.test('a chat stream without [DONE] has broken off where its transfer breaks, or no choice has ended', async t => {
  const inArguments = { tool_calls: [{ index: 0, function: { arguments: '{"finish_reason":"stop"}' } }] }
  const open = `data: ${JSON.stringify({ object: 'chat.completion.chunk', choices: [choice(null, inArguments)] })}\n\n`
  const scripts = [
    brokenStream([...THREE, STOPPED], reset),
    brokenStream([...THREE, STOPPED], finish),
    stream([...THREE, open, COUNTED]),
  ]
  for (const script of scripts) {
    t.equal(streamError(t, (await streamed(t, script)).answer).code, 'upstream_truncated')
  }
})

t.test('F-U6 a stream that has begun is never tried again', async t => {
  const [first, second] = [await startRawUpstream(t), await startRawUpstream(t)]
  first.answer(brokenStream(THREE, reset))
  second.answer(stream([chatEvent('other'), DONE]))
  const upstreams = `upstreams:\n  a: ${upstreamYaml(first.origin)}\n  b: ${upstreamYaml(second.origin)}\n`
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\n${upstreams}models: { m: [{ upstream: a }, { upstream: b }] }\n`,
  )
  streamError(t, await gateway.chat({ stream: true }))
  t.equal(second.requests.items.length, 0)
})

t.test('F-U6 a partial event is not delivered', async t => {
  const { answer } = await streamed(t, brokenStream([...THREE, 'data: {"id":"half'], reset))
  streamError(t, answer)
  t.notMatch(answer.text, /half/)
})

t.test('F-U6 a responses stream fails with its own two events', async t => {
  const upstream = await startRawUpstream(t)
  const created = {
    type: 'response.created',
    sequence_number: 0,
    response: { id: 'resp_1', object: 'response', status: 'in_progress' },
  }
  upstream.answer(brokenStream([`event: response.created\ndata: ${JSON.stringify(created)}\n\n`], reset))
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  const answer = await gateway.request('/v1/responses', { body: { model: 'm', input: 'hi', stream: true } })
  const events = eventsOf(answer.text).map(({ event, data }) => ({ event, data: JSON.parse(data) }))
  t.same(
    events.map(({ event }) => event),
    ['response.created', 'error', 'response.failed'],
  )
  t.match(events[1]?.data, { type: 'error', sequence_number: 1, error: { code: 'upstream_truncated' } })
  t.match(events[2]?.data, {
    type: 'response.failed',
    sequence_number: 2,
    response: { id: 'resp_1', status: 'failed' },
  })
})

t.test('F-U6 a JSON answer that breaks off is never delivered as whole', async t => {
  const text = JSON.stringify({ choices: [], filler: 'x'.repeat(200_000) })
  for (const last of [reset, finish]) {
    const upstream = await startRawUpstream(t)
    upstream.answer(async peer => {
      await peer.send(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${text.length}\r\n\r\n`)
      await peer.send(text.slice(0, 150_000))
      await last(peer)
    })
    const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
    const answer = await gateway.chat().catch(() => undefined)
    t.ok(answer === undefined || !answer.whole || answer.status === 502, 'broken transfer, or 502')
  }
})

t.test('F-U7 silence mid-stream ends with an error event after the idle time-out', async t => {
  const { answer, gateway } = await streamed(t, brokenStream(THREE, hang), 'timeouts: { idle: 300ms }\n')
  t.equal(streamError(t, answer).code, 'upstream_timeout')
  t.match(await gateway.log.find(line => line.msg === 'request'), { phase: 'idle', events: 3 })
})

t.test('F-U7 comments do not count as content, and are passed on', async t => {
  const ping: Script = async peer => {
    const timer = setInterval(() => peer.socket.destroyed || peer.socket.write(chunk(': ping\n\n')), 20)
    await peer.gone()
    clearInterval(timer)
  }
  const { answer } = await streamed(t, brokenStream([...THREE, ': ping\n\n'], ping), 'timeouts: { idle: 400ms }\n')
  t.equal(streamError(t, answer).code, 'upstream_timeout')
  t.match(answer.text, /: ping\n\n/)
})

t.test('F-U7 content within the idle time-out keeps a stream alive beyond it', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(async peer => {
    await startStream(peer)
    for (let i = 0; i < 8; i += 1) {
      await peer.send(chunk(chatEvent(`${i}`)))
      await new Promise(resolve => setTimeout(resolve, 100))
    }
    await peer.send(chunk(DONE))
    await peer.send(LAST_CHUNK)
  })
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin, 'timeouts: { idle: 700ms }\n'))
  const answer = await gateway.chat({ stream: true })
  t.match(answer.text, /\[DONE\]\n\n$/)
  t.equal(answer.whole, true)
})

for (const extra of [DONE, chatEvent('late'), ': bye\n\n', 'garbage']) {
  t.test(`F-U9 what follows the last event is dropped: ${JSON.stringify(extra.slice(0, 16))}`, async t => {
    const upstream = await startRawUpstream(t)
    upstream.answer(stream([...THREE, DONE, extra]))
    const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
    const answer = await gateway.chat({ stream: true })
    t.equal(answer.text, THREE.join('') + DONE)
    t.equal(answer.whole, true)
  })
}

t.test(
  'F-U9 an upstream that never ends its transfer does not hold the client, and its connection is not used again',
  async t => {
    const upstream = await startRawUpstream(t)
    upstream.answer(brokenStream([...THREE, DONE], hang), stream([DONE]))
    const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
    t.equal((await gateway.chat({ stream: true })).text, THREE.join('') + DONE)
    await upstream.closes.count(1)
    t.equal((await gateway.chat({ stream: true })).text, DONE)
    t.equal(upstream.connections.items.length, 2)
  },
)

const FAILURE = { error: { message: 'overloaded', type: 'server_error', param: null, code: 'overloaded' } }

t.test('F-U14 an error as the first event lets another target answer', async t => {
  const [first, second] = [await startRawUpstream(t), await startRawUpstream(t)]
  first.answer(stream([`data: ${JSON.stringify(FAILURE)}\n\n`]))
  second.answer(stream([chatEvent('other'), DONE]))
  const upstreams = `upstreams:\n  a: ${upstreamYaml(first.origin)}\n  b: ${upstreamYaml(second.origin)}\n`
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\n${upstreams}models: { m: [{ upstream: a }, { upstream: b }] }\n`,
  )
  t.equal((await gateway.chat({ stream: true })).text, chatEvent('other') + DONE)
})

t.test('F-U14 an error as the first event, with no target left, reaches the client in its family', async t => {
  const { answer } = await streamed(t, stream([`data: ${JSON.stringify(FAILURE)}\n\n`]))
  t.notMatch(answer.text, /\[DONE\]/)
  t.match(answer.text, /"error"/)
  if (answer.status === 200) t.match(streamError(t, answer), { message: 'overloaded' })
})

t.test('F-U14 an error mid-stream is passed on, and the request counts as failed', async t => {
  for (const frame of [`data: ${JSON.stringify(FAILURE)}\n\n`, `event: error\ndata: ${JSON.stringify(FAILURE)}\n\n`]) {
    const { answer, gateway } = await streamed(t, stream([...THREE, frame]))
    t.equal(answer.text, THREE.join('') + frame)
    t.match(await gateway.log.find(line => line.msg === 'request'), { outcome: 'upstream_error' })
  }
})

/** An error as some servers put it into a chunk like any other. */
const CHUNK_OF_ERROR = `data: ${JSON.stringify({
  id: 'c',
  object: 'chat.completion.chunk',
  error: { code: 502, message: 'overloaded' },
  choices: [{ index: 0, delta: { content: '' }, finish_reason: 'error' }],
})}\n\n`

t.test('F-U5 comments and pings before the first event do not keep another target from answering', async t => {
  for (const last of [reset, finish, (peer => peer.send(chunk(CHUNK_OF_ERROR) + LAST_CHUNK)) as Script]) {
    const [first, second] = [await startRawUpstream(t), await startRawUpstream(t)]
    first.answer(brokenStream([': processing\n\n', 'event: ping\ndata: {}\n\n'], last))
    second.answer(stream([': other\n\n', chatEvent('other'), DONE]))
    const upstreams = `upstreams:\n  a: ${upstreamYaml(first.origin)}\n  b: ${upstreamYaml(second.origin)}\n`
    const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${upstreams}models: { m: [a, b] }\n`)
    t.equal((await gateway.chat({ stream: true })).text, `: other\n\n${chatEvent('other')}${DONE}`)
  }
})

t.test('F-U5 what came before the first event is not lost where this target answers', async t => {
  const [first, second] = [await startRawUpstream(t), await startRawUpstream(t)]
  const pieces = [': processing\n\n', ': processing\n\n', ...THREE, DONE]
  first.answer(stream(pieces))
  const upstreams = `upstreams:\n  a: ${upstreamYaml(first.origin)}\n  b: ${upstreamYaml(second.origin)}\n`
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${upstreams}models: { m: [a, b] }\n`)
  t.equal((await gateway.chat({ stream: true })).text, pieces.join(''))
})

t.test('comments pass at once where there is no other target', async t => {
  const upstream = await startRawUpstream(t)
  let release: () => void = () => undefined
  const held = new Promise<void>(resolve => {
    release = resolve
  })
  upstream.answer(async peer => {
    await startStream(peer)
    await peer.send(chunk(': processing\n\n'))
    await held
    await peer.send(chunk(chatEvent('one') + DONE))
    await peer.send(LAST_CHUNK)
  })
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  const client = await gateway.open('/v1/chat/completions', {
    body: { model: 'm', stream: true, messages: [{ role: 'user', content: 'x' }] },
  })
  const head = await client.head()
  t.equal((await client.body(head, got => got.includes('\n\n'))).body.toString(), ': processing\n\n')
  release()
  await client.socket.destroy()
})

t.test('F-U14 an error behind other members of a chunk counts, whatever comes behind it', async t => {
  const usage = `data: ${JSON.stringify({ id: 'c', error: null, choices: [], usage: { prompt_tokens: 3 } })}\n\n`
  for (const rest of ['', usage]) {
    const pieces = [...THREE, CHUNK_OF_ERROR, rest, DONE]
    const { answer, gateway } = await streamed(t, stream(pieces.filter(piece => piece !== '')))
    t.equal(answer.text, pieces.join(''), 'byte for byte')
    t.match(await gateway.log.find(line => line.msg === 'request'), { outcome: 'upstream_error', events: Number })
  }
  const told = chatEvent('"error": {"code": 502}')
  const { gateway } = await streamed(t, stream([told, DONE]))
  t.match(await gateway.log.find(line => line.msg === 'request'), { outcome: 'ok' }, 'text is not an error')
})

t.test('F-U14 as the first event it lets another target answer', async t => {
  const [first, second] = [await startRawUpstream(t), await startRawUpstream(t)]
  first.answer(stream([CHUNK_OF_ERROR, DONE]))
  second.answer(stream([chatEvent('other'), DONE]))
  const upstreams = `upstreams:\n  a: ${upstreamYaml(first.origin)}\n  b: ${upstreamYaml(second.origin)}\n`
  const gateway = await startTestGateway(t, `version: 1\n${CALLER}\n${upstreams}models: { m: [a, b] }\n`)
  t.equal((await gateway.chat({ stream: true })).text, chatEvent('other') + DONE)
})

const FAILED = {
  id: 'resp_1',
  object: 'response',
  status: 'failed',
  error: { code: 'server_error', message: 'overloaded' },
  usage: { input_tokens: 3, output_tokens: 5, total_tokens: 8 },
}
const event = (type: string, more: object, named = true): string =>
  `${named ? `event: ${type}\n` : ''}data: ${JSON.stringify({ type, ...more })}\n\n`

for (const named of [true, false]) {
  t.test(`F-U14 a response that fails counts as failed, without an error event too (${named})`, async t => {
    const created = event('response.created', { response: { ...FAILED, status: 'in_progress' } }, named)
    const words = event('response.output_text.delta', { delta: 'not "response.failed"' }, named)
    for (const [end, outcome] of [
      [event('response.failed', { response: FAILED }, named), 'upstream_error'],
      [
        event('response.completed', { response: { ...FAILED, status: 'completed', x: 'response.failed' } }, named),
        'ok',
      ],
    ] as const) {
      const upstream = await startRawUpstream(t)
      upstream.answer(stream([created, words, end]))
      const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
      const answer = await gateway.request('/v1/responses', { body: { model: 'm', input: 'x', stream: true } })
      t.equal(answer.text, created + words + end, 'byte for byte')
      t.match(await gateway.log.find(line => line.msg === 'request'), { outcome, status: 200, output_tokens: 5 })
    }
  })
}

t.test('F-U14 a whole response that failed passes, and counts as failed', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(FAILED))
  const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
  const answer = await gateway.request('/v1/responses', { body: { model: 'm', input: 'x', store: false } })
  t.same(answer.json(), FAILED)
  t.match(await gateway.log.find(line => line.msg === 'request'), { outcome: 'upstream_error', status: 200 })
})

/** Streams as the WHATWG rules read them, and the data of the events that a client has to see. */
const ODD_STREAMS: readonly (readonly [string, string, readonly string[]])[] = [
  ['no space after the colon', 'data:{"a":1}\n\ndata:[DONE]\n\n', ['{"a":1}', '[DONE]']],
  ['CR LF', 'data: {"a":1}\r\n\r\ndata: [DONE]\r\n\r\n', ['{"a":1}', '[DONE]']],
  ['CR alone', 'data: {"a":1}\r\rdata: [DONE]\r\r', ['{"a":1}', '[DONE]']],
  ['a byte order mark', '\ufeffdata: {"a":1}\n\ndata: [DONE]\n\n', ['{"a":1}', '[DONE]']],
  ['fields without a colon', 'nothing\ndata: {"a":1}\n\ndata: [DONE]\n\n', ['{"a":1}', '[DONE]']],
  ['fields that no one knows', 'x: y\nretry: 10\nid: 7\ndata: {"a":1}\n\ndata: [DONE]\n\n', ['{"a":1}', '[DONE]']],
  ['data in several lines', 'data: {"a":\ndata: 1}\n\ndata: [DONE]\n\n', ['{"a":\n1}', '[DONE]']],
  ['comments all over', ': a\n: b\n\n: c\ndata: {"a":1}\n: d\n\ndata: [DONE]\n\n', ['{"a":1}', '[DONE]']],
  ['a comment flood', `${': x\n\n'.repeat(5000)}data: {"a":1}\n\ndata: [DONE]\n\n`, ['{"a":1}', '[DONE]']],
  ['empty lines', '\n\n\n\ndata: {"a":1}\n\n\n\ndata: [DONE]\n\n', ['{"a":1}', '[DONE]']],
]

for (const [title, text, expected] of ODD_STREAMS) {
  t.test(`F-U15 ${title}: the same events, wherever the bytes are cut`, async t => {
    const bytes = Buffer.from(text)
    const cuts = bytes.length > 200 ? [0, 1, 17, 4096] : bytes.map((_, i) => i).subarray(0, bytes.length)
    const upstream = await startRawUpstream(t)
    const gateway = await startTestGateway(t, oneUpstream(upstream.origin))
    for (const at of cuts) {
      upstream.answer(stream([bytes.subarray(0, at), bytes.subarray(at)].filter(piece => piece.length > 0)))
      const answer = await gateway.chat({ stream: true })
      t.equal(answer.whole, true)
      t.same(
        eventsOf(answer.text).map(({ data }) => data),
        expected,
        `cut at ${at}`,
      )
    }
  })
}

for (const [title, data] of [
  ['text', 'data: hello\n\n'],
  ['half an object', 'data: {"id":\n\n'],
  ['a NUL', 'data: \0\n\n'],
] as const) {
  t.test(`F-U15 an event that is not JSON (${title}) ends the stream with an error event`, async t => {
    const { answer } = await streamed(t, stream([...THREE, data, DONE]))
    t.equal(streamError(t, answer).code, 'bad_upstream_response')
    t.ok(answer.text.startsWith(THREE.join('')))
  })
}

const RENAMED = 'response: [{ rename: { answer: said } }]'
const ODD = 'data: {"answer":"odd"}\n\n'

t.test('verbs change the last event, too, where no blank line ends it', async t => {
  const upstream = await startRawUpstream(t)
  upstream.answer(stream([...THREE, STOPPED, ODD.trimEnd()]))
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams: { a: ${upstreamYaml(upstream.origin)} }\nmodels: { m: { upstream: a, ${RENAMED} } }\n`,
  )
  t.match((await gateway.chat({ stream: true })).text, /data: \{"said":"odd"\}\n\n$/)
})

t.test('F-U15 an event that is not JSON inside, among much else, ends a stream with verbs at once', async t => {
  const [first, second] = [await startRawUpstream(t), await startRawUpstream(t)]
  const model = (name: string): string => `{ upstream: ${name}, ${RENAMED} }`
  const gateway = await startTestGateway(
    t,
    `version: 1\n${CALLER}\nupstreams:\n  a: ${upstreamYaml(first.origin)}\n  b: ${upstreamYaml(second.origin)}\n` +
      `models: { m: [${model('a')}, ${model('b')}] }\nretry: { attempts: 2, on: [bad_response] }\n`,
  )
  const [bad, more] = ['data: {"logprob":NaN}\n\n', chatEvent('more').repeat(200)]
  first.answer(stream([ODD + bad + more]))
  const { text } = await gateway.chat({ stream: true })
  t.ok(text.startsWith('data: {"said":"odd"}\n\n'), 'what came before it stays')
  t.match(text, /malformed event/)
  t.notMatch(text, /NaN|more/)
  first.answer(stream([bad + more]))
  second.answer(stream([chatEvent('other'), DONE]))
  t.equal(
    (await gateway.chat({ stream: true })).text,
    chatEvent('other') + DONE,
    'while nothing was sent, another target',
  )
})

t.test('F-U16 a line over the limit ends the stream with an error event, in bounded memory', async t => {
  const limit = 'limits: { line: 256KiB, event: 1MiB }\n'
  const flood: Script = async peer => {
    const piece = chunk('x'.repeat(65_536))
    for (let sent = 0; sent < 200 * 1024 * 1024 && !peer.socket.destroyed; sent += 65_536) {
      if (peer.socket.write(piece)) await new Promise(resolve => setImmediate(resolve))
      else await new Promise(resolve => peer.socket.once('drain', resolve).once('close', resolve))
    }
  }
  const { answer, gateway } = await streamed(t, brokenStream([...THREE, 'data: {"'], flood), limit)
  t.equal(streamError(t, answer).code, 'bad_upstream_response')
  const line = await gateway.log.find(line => line.msg === 'request')
  t.equal(line.limit, 'sse_line')
  t.ok((line.bytes_out as number) < 10_000, 'nothing of the long line was delivered')
})

t.test('F-U16 an event that never ends is cut too', async t => {
  const endless: Script = async peer => {
    while (!peer.socket.destroyed) await peer.send(chunk('data: [1,\n'.repeat(1000)))
  }
  const { answer, gateway } = await streamed(
    t,
    brokenStream(THREE, endless),
    'limits: { line: 64KiB, event: 128KiB }\n',
  )
  t.equal(streamError(t, answer).code, 'bad_upstream_response')
  t.match(await gateway.log.find(line => line.msg === 'request'), { limit: 'sse_event' })
})

t.test('F-U16 as the first thing of a stream it is 502', async t => {
  const { answer } = await streamed(
    t,
    stream([`data: {"${'x'.repeat(300_000)}`]),
    'limits: { line: 64KiB, event: 128KiB }\n',
  )
  compatibleError(t, answer, 502, 'bad_upstream_response')
})

proveNoLeak(t)
