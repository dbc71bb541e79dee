import { crc32 } from 'node:zlib'
import t from 'tap'
import { chunk } from '../helpers/answers.js'
import { proveNoLeak } from '../helpers/canaries.js'
import type { Script } from '../helpers/raw-upstream.js'
import { CLIENTS, EACH_CLIENT, PROTOCOLS, type Protocol } from '../helpers/text-clients.js'
import { begins, streams, TEXT, type TextUpstream, UPSTREAMS, upstreamOf } from '../helpers/text-upstreams.js'
import { startStage, translated } from '../helpers/translation-stage.js'

// Streams that are odd but sound, streams without bounds, and numbers and indices that cannot be.

t.setTimeout(300_000)

const EVENTS = UPSTREAMS.filter(({ contentType }) => contentType.startsWith('text'))

/** Other ways to write the same events. */
const WAYS: readonly (readonly [string, (text: string) => string])[] = [
  ['CR LF', text => text.replaceAll(/\r?\n/g, '\r\n')],
  ['CR alone', text => text.replaceAll(/\r?\n/g, '\r')],
  ['a byte order mark', text => `\ufeff${text}`],
  ['no space after the colon', text => text.replaceAll(/^(data|event): /gm, '$1:')],
  ['fields without a colon', text => text.replaceAll(/^data/gm, 'nothing\ndata')],
  ['fields that no one knows', text => text.replaceAll(/^data/gm, 'x: y\nretry: 10\nid: 7\ndata')],
  ['comments all over', text => text.replaceAll(/^data/gm, ': a\n: b\ndata')],
  ['a comment flood', text => text.replace(/^data/m, `${': x\n\n'.repeat(5000)}data`)],
  ['empty lines', text => `\n\n\n${text.replaceAll('\n\n', '\n\n\n\n')}`],
  ['pretty JSON over several lines', text => text.replaceAll(/^data: \{"/gm, 'data: {\ndata: "')],
  ['pings of the messages protocol', text => text.replaceAll('\n\n', '\n\nevent: ping\ndata: {"type":"ping"}\n\n')],
]

t.test('odd but sound', async t => {
  const stage = await startStage(t)
  for (const upstream of EVENTS) {
    for (const [name, write] of WAYS) {
      // Its own protocol has such pings; the others never do.
      if (name.startsWith('pings') && upstream.protocol !== 'messages') continue
      await t.test(`F-U15 ${upstream.name} with ${name}: the same answer, wherever it is cut`, async t => {
        const bytes = Buffer.from(write(upstream.pieces.join('')))
        const step = Math.max(1, Math.floor(bytes.length / 12))
        const cuts = [1, 2, 3, ...Array.from({ length: 12 }, (_, i) => i * step + (i % 3)), bytes.length - 1]
        for (const client of EACH_CLIENT.filter(({ protocol }) => protocol !== upstream.protocol)) {
          const seen = await Promise.all(
            cuts.map(async at => {
              const pieces = [bytes.subarray(0, at), bytes.subarray(at)].filter(({ length }) => length > 0)
              const script: Script = async peer => {
                await begins(upstream, [])(peer)
                for (const piece of pieces) await peer.send(chunk(piece))
                await peer.send('0\r\n\r\n')
              }
              return client.ending(await stage.ask(client, stage.play(upstream.protocol, script), true))
            }),
          )
          for (const [index, one] of seen.entries())
            t.match(one, { text: TEXT, good: 1, errors: [], trailing: false }, `${client.name}, cut at ${cuts[index]}`)
        }
      })
    }
  }
})

/** The beginning of a message of that length, its own checksum right. */
function preludeOf(length: number): Buffer {
  const bytes = Buffer.alloc(12)
  bytes.writeUInt32BE(length, 0)
  bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8)
  return bytes
}

const BAD = { good: 0, errors: [{ message: /malformed/ }], trailing: false }

t.test('without bounds', async t => {
  const stage = await startStage(t, { more: 'limits: { line: 64KiB, event: 128KiB }\n' })

  const flood =
    (upstream: TextUpstream, start: string | Buffer, piece: string): Script =>
    async peer => {
      await begins(upstream, upstream.pieces.slice(0, 2))(peer)
      await peer.send(chunk(start))
      const bytes = chunk(piece)
      for (let sent = 0; sent < 64 * 1024 * 1024 && !peer.socket.destroyed; sent += bytes.length) {
        if (peer.socket.write(bytes)) await new Promise(resolve => setImmediate(resolve))
        else await new Promise(resolve => peer.socket.once('drain', resolve).once('close', resolve))
      }
      await peer.gone()
    }

  for (const upstream of UPSTREAMS) {
    const array = upstream.name.endsWith('array')
    const long = 'x'.repeat(65_536)
    const floods: readonly (readonly [string, Script, string])[] = array
      ? [['a document that never ends', flood(upstream, ',{"x":"', long), 'json_event']]
      : upstream.protocol === 'converse'
        ? [['a message that never ends', flood(upstream, preludeOf(2 ** 31), long), 'eventstream_event']]
        : [
            ['a line that never ends', flood(upstream, 'data: {"', long), 'sse_line'],
            ['an event that never ends', flood(upstream, 'data: [\n', 'data: [1,\n'.repeat(1000)), 'sse_event'],
          ]
    for (const [name, script, limit] of floods) {
      await t.test(`F-U16 ${name} from ${upstream.name} is cut, with an error`, async t => {
        for (const client of CLIENTS.filter(({ protocol }) => protocol !== upstream.protocol)) {
          const answer = await stage.ask(client, stage.play(upstream.protocol, script), true)
          if (answer.status === 200) t.match(client.ending(answer), BAD, client.name)
          else client.error(t, answer, 502)
          const line = await stage.line(answer)
          t.equal(line.limit, limit)
          t.ok((line.bytes_out as number) < 10_000)
        }
      })
    }
  }

  await t.test('F-U13 a whole answer over its bound is 502', async t => {
    const small = await startStage(t, { more: 'limits: { body: 64KiB, response: 128KiB }\n' })
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      const script: Script = async peer => {
        await peer.send('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n')
        await peer.send(chunk(`{"x":"${'x'.repeat(200_000)}`))
        await peer.gone()
      }
      const answer = await small.ask(client, small.play(protocol, script), false)
      client.error(t, answer, 502)
      t.equal((await small.line(answer)).limit, 'response')
    }
  })
})

/** Replaces each number of the usage. */
function withUsage(value: unknown, counts: unknown, key = ''): unknown {
  if (Array.isArray(value)) return value.map(one => withUsage(one, counts))
  if (typeof value !== 'object' || value === null)
    return /tokens?$|TokenCount$/i.test(key) && typeof value === 'number' ? counts : value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withUsage(one, counts, name)]))
}

const COUNTS: readonly (readonly [string, unknown])[] = [
  ['negative', -5],
  ['huge', 1e300],
  ['a text', '12'],
  ['null', null],
  ['a fraction', 1.5],
  ['an object', { a: 1 }],
  ['a list', [1]],
]

t.test('usage that cannot be', async t => {
  const stage = await startStage(t)
  for (const [name, counts] of COUNTS) {
    await t.test(`F-U24 usage that is ${name}: the answer comes, and no count is made up of it`, async t => {
      for (const [client, protocol] of translated(EACH_CLIENT)) {
        const upstream = upstreamOf(protocol)
        const pieces = upstream.pieces.map(piece =>
          piece.replace(/\{.*\}/, text => JSON.stringify(withUsage(JSON.parse(text), counts))),
        )
        const body = Buffer.from(JSON.stringify(withUsage(upstream.answer, counts)))
        const whole: Script = async peer => {
          await peer.send(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`)
          await peer.send(body)
        }
        const streamed = await stage.ask(client, stage.play(protocol, streams(upstream, pieces)), true)
        t.match(client.ending(streamed), { text: TEXT, good: 1, errors: [] }, `${client.name} ← ${protocol}`)
        const answer = await stage.ask(client, stage.play(protocol, whole), false)
        t.equal(answer.status, 200, answer.text)
        t.equal(client.text(answer), TEXT)
        for (const one of [streamed, answer]) {
          const line = await stage.line(one)
          for (const count of ['input_tokens', 'output_tokens', 'total_tokens'] as const) {
            const value = line[count]
            t.ok(value === undefined || (Number.isSafeInteger(value) && (value as number) >= 0), `${count}: ${value}`)
          }
        }
      }
    })
  }

  await t.test('F-U24 no usage at all: the answer comes, and the account has none', async t => {
    for (const [client, protocol] of translated(EACH_CLIENT)) {
      const upstream = upstreamOf(protocol)
      const { usage: _, usageMetadata: __, ...bare } = upstream.answer
      const body = Buffer.from(JSON.stringify(bare))
      const model = stage.play(protocol, async peer => {
        await peer.send(`HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`)
        await peer.send(body)
      })
      const answer = await stage.ask(client, model, false)
      t.equal(answer.status, 200)
      t.equal((await stage.line(answer)).input_tokens, undefined)
    }
  })
})

/** Calls whose indices and ids cannot be. */
const ODD_CALLS: Readonly<Record<string, readonly OddCall[]>> = {
  'index 76': [{ index: 76, id: 'a', name: 'f', arguments: '{}' }],
  'one id twice': [
    { index: 0, id: 'a', name: 'f', arguments: '{"x":1}' },
    { index: 1, id: 'a', name: 'g', arguments: '{"x":2}' },
  ],
  'arguments before the call': [{ index: 3, arguments: '{"x":1}' }],
  'a negative index': [{ index: -1, id: 'a', name: 'f', arguments: '{}' }],
  'a huge index': [{ index: 2 ** 53, id: 'a', name: 'f', arguments: '{}' }],
  'an id that is __proto__': [
    { index: 0, id: '__proto__', name: 'constructor', arguments: '{"__proto__":{"polluted":1}}' },
  ],
}

/** The same in streams of each protocol. */
const CALLS_OF: Readonly<Record<Protocol, (calls: readonly OddCall[]) => readonly string[]>> = {
  chat: chatCalls,
  responses: responsesCalls,
  messages: messagesCalls,
  generate: generateCalls,
  converse: converseCalls,
}

interface OddCall {
  readonly index: number
  readonly id?: string
  readonly name?: string
  readonly arguments: string
}

function chatCalls(calls: readonly OddCall[]): readonly string[] {
  const event = (delta: object, finish_reason: string | null = null): string =>
    `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'up', choices: [{ index: 0, delta, finish_reason }] })}\n\n`
  return [
    event({ role: 'assistant', content: null }),
    ...calls.map(({ index, id, name, arguments: text }) =>
      event({
        tool_calls: [
          {
            index,
            ...(id !== undefined && { id, type: 'function' }),
            function: { ...(name !== undefined && { name }), arguments: text },
          },
        ],
      }),
    ),
    event({}, 'tool_calls'),
    'data: [DONE]\n\n',
  ]
}

function messagesCalls(calls: readonly OddCall[]): readonly string[] {
  const event = (one: { readonly type: string }): string => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`
  const usage = { input_tokens: 1, output_tokens: 1 }
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'up', content: [], usage }
  const blocks = calls.flatMap(({ index, id, name, arguments: text }) => [
    ...(id === undefined
      ? []
      : [{ type: 'content_block_start', index, content_block: { type: 'tool_use', id, name, input: {} } }]),
    { type: 'content_block_delta', index, delta: { type: 'input_json_delta', partial_json: text } },
    { type: 'content_block_stop', index },
  ])
  return [
    { type: 'message_start', message },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage },
    { type: 'message_stop' },
  ].map(event)
}

function responsesCalls(calls: readonly OddCall[]): readonly string[] {
  const response = { id: 'r', object: 'response', created_at: 1, model: 'up', output: [] }
  const items = calls.map(({ id, name, arguments: text }) => ({
    type: 'function_call',
    id: `fc_${id}`,
    call_id: id,
    name,
    arguments: text,
    status: 'completed',
  }))
  const events = [
    { type: 'response.created', response: { ...response, status: 'in_progress' } },
    ...calls.flatMap(({ index, id, arguments: delta }, at) => [
      ...(id === undefined
        ? []
        : [{ type: 'response.output_item.added', output_index: index, item: { ...items[at], arguments: '' } }]),
      { type: 'response.function_call_arguments.delta', item_id: `fc_${id}`, output_index: index, delta },
      ...(id === undefined ? [] : [{ type: 'response.output_item.done', output_index: index, item: items[at] }]),
    ]),
    { type: 'response.completed', response: { ...response, status: 'completed', output: items } },
  ]
  return events.map(
    (one, sequence_number) => `event: ${one.type}\ndata: ${JSON.stringify({ ...one, sequence_number })}\n\n`,
  )
}

function converseCalls(calls: readonly OddCall[]): readonly string[] {
  const events = calls.flatMap(({ index: contentBlockIndex, id: toolUseId, name, arguments: input }) => [
    ...(toolUseId === undefined
      ? []
      : [['contentBlockStart', { contentBlockIndex, start: { toolUse: { toolUseId, name } } }] as const]),
    ['contentBlockDelta', { contentBlockIndex, delta: { toolUse: { input } } }] as const,
    ['contentBlockStop', { contentBlockIndex }] as const,
  ])
  const { piece } = upstreamOf('converse')
  return [
    piece('{"role":"assistant"}', 'messageStart'),
    ...events.map(([event, payload]) => piece(JSON.stringify(payload), event)),
    piece('{"stopReason":"tool_use"}', 'messageStop'),
    piece('{"usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2},"metrics":{"latencyMs":1}}', 'metadata'),
  ]
}

/** Here the candidates have indices, and calls come whole. */
function generateCalls(calls: readonly OddCall[]): readonly string[] {
  const document = (index: number, part: object, more: object = {}): string =>
    `data: ${JSON.stringify({ candidates: [{ index, content: { role: 'model', parts: [part] }, ...more }], responseId: 'r' })}\r\n\r\n`
  const indices = calls.map(({ index }) => (calls.length > 1 ? 0 : index))
  return [
    ...calls.map(({ id, name, arguments: text }, at) =>
      document(indices[at] ?? 0, { functionCall: { id, name, args: JSON.parse(text) as unknown } }),
    ),
    document(indices[0] ?? 0, { text: '' }, { finishReason: 'STOP' }),
  ]
}

t.test('calls that cannot be', async t => {
  const stage = await startStage(t)
  for (const [name, calls] of Object.entries(ODD_CALLS)) {
    for (const protocol of PROTOCOLS) {
      const pieces = CALLS_OF[protocol](calls)
      await t.test(`F-U25 ${name} from ${protocol}: passed on, put right or refused, and one end`, async t => {
        for (const client of CLIENTS.filter(one => one.protocol !== protocol)) {
          const answer = await stage.ask(client, stage.play(protocol, streams(upstreamOf(protocol), pieces)), true)
          t.not((await stage.line(answer)).error, 'internal')
          if (answer.status === 200) {
            const { good, errors, trailing } = client.ending(answer)
            t.match({ ends: good + errors.length, trailing }, { ends: 1, trailing: false }, client.name)
          } else client.error(t, answer, 502)
        }
        t.equal(({} as { polluted?: unknown }).polluted, undefined)
      })
    }
  }
})

proveNoLeak(t)
