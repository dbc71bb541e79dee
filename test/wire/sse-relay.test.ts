import { deepStrictEqual, ok } from 'node:assert/strict'
import t from 'tap'
import { SseDecoder } from '../../src/wire/sse.js'
import { SseRelay } from '../../src/wire/sse-relay.js'
import { fc } from '../helpers/property.js'
import { cut, cutEverywhere, cutsInTwo, places } from './cuts.js'
import { streams } from './sse-streams.js'

type RelayOptions = ConstructorParameters<typeof SseRelay>[0]

const DONE: RelayOptions = { line: 1e6, event: 4e6, end: { data: '[DONE]', events: [] } }
const TYPED: RelayOptions = { line: 1e6, event: 4e6, end: { data: undefined, events: ['end', 'failed'] } }
const OFTEN: RelayOptions = { line: 1e6, event: 4e6, end: { data: '[DONE]', events: ['end'], repeats: true } }
const OPEN: RelayOptions = { line: 1e6, event: 4e6, end: undefined }

/** All that can be seen of a relay after a stream. */
interface Seen {
  readonly out: string
  readonly events: number
  readonly content: number
  readonly ended: boolean
  readonly trailing: number
  readonly held: number
  readonly failure: string | undefined
  readonly fault: string | undefined
  readonly first: string | undefined
}

function relay(chunks: readonly Buffer[], options = DONE): Seen {
  const stream = new SseRelay(options)
  const out = chunks.map(chunk => stream.push(chunk) ?? Buffer.alloc(0))
  const { events, content, ended, trailing, held, fault } = stream
  const [failure, first] = [stream.failure, stream.first].map(bytes => bytes && Buffer.from(bytes).toString('latin1'))
  return { out: Buffer.concat(out).toString('latin1'), events, content, ended, trailing, held, failure, fault, first }
}

function relayText(text: string, options = DONE): Seen {
  return relay([Buffer.from(text, 'latin1')], options)
}

t.test('whole events go out at once, the rest when it is whole', async t => {
  const stream = new SseRelay(DONE)
  t.equal(String(stream.push(Buffer.from('data: {"a":1}\n\ndata: {"b"'))), 'data: {"a":1}\n\n')
  t.equal(stream.held, 10)
  t.equal(stream.push(Buffer.from(':2}\n')), undefined)
  t.equal(String(stream.push(Buffer.from('\ndata: {}'))), 'data: {"b":2}\n\n')
  t.equal(stream.held, 8)
  t.same([stream.events, stream.content], [2, 2])
})

t.test('an event that may come several times ends nothing; the stream is whole where one came last', async t => {
  for (const pieces of [1, 7, 1000]) {
    const stream = new SseRelay(OFTEN)
    const seen = (text: string): unknown => {
      for (let at = 0; at < text.length; at += pieces) stream.push(Buffer.from(text.slice(at, at + pieces)))
      return [stream.whole, stream.ended, stream.content]
    }
    t.same(seen('data: {"a":1}\n\n'), [false, false, 1])
    t.same(seen('event: end\ndata: {}\n\n'), [true, false, 2])
    t.same(seen(': ping\n\nevent: ping\ndata: {}\n\n'), [true, false, 2], 'a ping is nothing')
    t.same(seen('data: {"a":2}\n\n'), [false, false, 3])
    t.same(seen('data: {"type":"end"}\n\n'), [true, false, 4])
    t.same(seen('data: [DONE]\n\n'), [true, true, 4])
    t.equal(stream.trailing, 0)
    t.same(seen('data: {"a":3}\n\n'), [true, true, 4])
    t.equal(stream.trailing, 15)
  }
})

t.test('a stream that ends with its transfer is whole once one of the members has come', async t => {
  for (const pieces of [1, 7, 1000]) {
    const stream = new SseRelay({
      line: 1e6,
      event: 4e6,
      end: { data: undefined, events: [], members: [['end'], ['list', '*', 'end']] },
    })
    const seen = (text: string): unknown => {
      for (let at = 0; at < text.length; at += pieces) stream.push(Buffer.from(text.slice(at, at + pieces)))
      return [stream.whole, stream.ended, stream.content]
    }
    t.same(seen('data: {"a":"end, \\"end\\": 1"}\n\n'), [false, false, 1], 'in a text it says nothing')
    t.same(seen('data: {"end" : null,"ended":1}\n\n'), [false, false, 2], 'nor does null')
    t.same(seen('data: {"end":null,"a":{"end" :\t"x"},"list":{"end":1}}\n\n'), [false, false, 3], 'nor any other place')
    t.same(seen('data: {"list":[{"end":null},\ndata: {"end" :\t"x"}]}\n\n'), [true, false, 4])
    t.same(seen('data: {"a":3}\n\n'), [true, false, 5], 'what follows belongs to it')
  }
})

t.test('a stream that has ended is whole', async t => {
  const stream = new SseRelay(DONE)
  stream.push(Buffer.from('data: {}\n\n'))
  t.equal(stream.whole, false)
  stream.push(Buffer.from('data: [DONE]\n\n'))
  t.same([stream.whole, stream.ended], [true, true])
})

t.test('a chunk of whole events goes out itself, uncopied', async t => {
  const stream = new SseRelay(DONE)
  const chunk = Buffer.from('data: {"a":1}\n\n: ping\n\nevent: x\ndata: {}\n\n')
  t.equal(stream.push(chunk), chunk)
  const more = Buffer.alloc(20, 'data: {"a":1}\n\ndata:')
  t.equal(stream.push(more)?.buffer, more.buffer, 'and the whole events of another are a view of it')
})

t.test('F-U15 events end in a blank line of any kind, and the bytes stay as they are', async t => {
  for (const end of ['\n\n', '\r\n\r\n', '\r\r', '\n\r', '\r\n\n', '\n\r\n', '\r\r\n']) {
    const text = `data: {"a":1}${end}data: {"b":2}${end}`
    t.match(relayText(text), { out: text, events: 2, content: 2, held: 0 }, JSON.stringify(end))
    for (const pieces of cutsInTwo(Buffer.from(text)))
      t.match(relay(pieces), { out: text, events: 2, held: 0 }, `${JSON.stringify(end)} at ${pieces[0]?.length}`)
  }
})

t.test('an LF that comes behind its CR goes out at once', async t => {
  const stream = new SseRelay(DONE)
  t.equal(String(stream.push(Buffer.from('data: {}\r\n\r'))), 'data: {}\r\n\r')
  t.equal(String(stream.push(Buffer.from('\n'))), '\n')
  t.equal(stream.held, 0)
})

t.test('F-U15 a byte order mark passes, and the first line is read behind it', async t => {
  const text = Buffer.from('\uFEFFdata: [DONE]\n\n')
  for (const pieces of [[text], cutEverywhere(text)])
    t.match(relay(pieces), { out: text.toString('latin1'), ended: true, content: 0 })
  const blank = Buffer.from('\uFEFF\ndata: {}\n\n')
  t.same(relay(cutEverywhere(blank)), relay([blank]))
})

t.test('comments, pings and empty events pass, and are not content', async t => {
  const text =
    ': hi\n\nevent: ping\ndata: {"type":"ping"}\n\nevent: ping\ndata: now\n\ndata:\n\ndata: \n\nevent: x\n\n\n\n'
  t.match(relayText(text), { out: text, events: 6, content: 0, fault: undefined, first: undefined })
})

t.test('the event that ends the stream is reported by its data, with or without a space', async t => {
  for (const done of ['data: [DONE]\n\n', 'data:[DONE]\r\n\r\n', 'event: x\ndata: [DONE]\n\n']) {
    const text = `data: {"a":1}\n\n${done}`
    t.match(relayText(text), { out: text, ended: true, content: 1, trailing: 0 }, JSON.stringify(done))
  }
  for (const other of [
    'data:  [DONE]',
    'data: [DONE] ',
    'data: [DONE]\ndata: x',
    'data\ndata: [DONE]',
    'data: "[DONE]"',
    ': [DONE]',
  ])
    t.notOk(relayText(`${other}\n\n`).ended, other)
})

t.test('or by its name', async t => {
  t.match(relayText('event: end\ndata: {"x":1}\n\n', TYPED), { ended: true, content: 1 })
  t.match(relayText('event:failed\ndata:\n\n', TYPED), { ended: true, content: 0 })
  t.match(relayText('data: {"type":"end"}\nevent: other\n\n', TYPED), { ended: false }, 'which goes before its type')
  t.match(relayText('event: end\n\n', TYPED), { ended: false }, 'without data it is not an event')
  t.match(relayText('event: END\ndata: {}\n\n', TYPED), { ended: false })
})

t.test('or, without a name, by the type at the top of its data', async t => {
  for (const data of [
    '{"type":"end"}',
    '{ "type" : "end" }',
    '{"a":[1],"type":"failed","b":{"type":"x"}}',
    '\ndata: {"type":"end"}',
  ])
    t.ok(relayText(`data: ${data}\n\n`, TYPED).ended, data)
  for (const data of ['{"type":"ending"}', '{"a":{"type":"end"}}', '{"a":"end"}', '[{"type":"end"}]', '{"a":1,"end":}'])
    t.match(relayText(`data: ${data}\n\n`, TYPED), { ended: false, content: 1 }, data)
})

t.test('F-U9 nothing behind the last event goes out; it is counted', async t => {
  const text = 'data: {"a":1}\n\ndata: [DONE]\n\n'
  const more = 'data: {"b":2}\n\ndata: [DONE]\n\n'
  t.match(relayText(text + more), { out: text, trailing: more.length, content: 1, held: 0 })
  t.match(relay([Buffer.from(text), Buffer.from(more), Buffer.from('x')]), { out: text, trailing: more.length + 1 })
  t.match(relay([Buffer.from(`${text}x\r`), Buffer.from('\n')]), { out: text, trailing: 3 })
})

t.test('F-U14 an error in the upstream’s stream is reported', async t => {
  const cases: [string, string][] = [
    ['data: {"error":{"message":"no"}}', '{"error":{"message":"no"}}'],
    ['data:{ "error" : "no" }', '{ "error" : "no" }'],
    ['data: {"type":"error","error":{}}', '{"type":"error","error":{}}'],
    ['event: error\ndata: {"type": "x"}', '{"type": "x"}'],
    ['event: error\ndata: {"a":\ndata: 1}', '{"a":\n1}'],
  ]
  for (const [event, failure] of cases) {
    const text = `${event}\n\n`
    t.match(relayText(text), { out: text, failure, content: 1, ended: false, fault: undefined }, event)
  }
  for (const event of [
    'data: {"error":null,"id":1}',
    'data: {"a":1,"error":{}}',
    'data: {"errors":[]}',
    'data: {"type":"errors"}',
  ])
    t.equal(relayText(`${event}\n\n`).failure, undefined, event)
})

t.test('the first such error counts', async t => {
  t.equal(relayText('data: {"error":1}\n\ndata: {"error":2}\n\n').failure, '{"error":1}')
})

t.test('F-U15 data that cannot be JSON stops the relay before it', async t => {
  const good = 'data: {"a":1}\n\n'
  for (const bad of [
    'data: hello',
    'data: {"a":1',
    'data: 1}',
    'data: <html>',
    'data: {]',
    'data: {"a":1}\ndata: x',
    'data: "x"',
  ]) {
    const stream = new SseRelay(DONE)
    t.equal(String(stream.push(Buffer.from(`${good}${bad}\n\n${good}`))), good, bad)
    t.same([stream.fault, stream.held, stream.events], ['json', 0, 1])
    t.equal(stream.push(Buffer.from(good)), undefined)
  }
  for (const fine of ['data: {} ', 'data: \t[1]\t', 'data: {"a":\ndata: 1}', 'data: []'])
    t.equal(relayText(`${fine}\n\n`).fault, undefined, fine)
})

t.test('F-U16 a line over its limit stops the relay, whether it ends or not', async t => {
  const options = { ...DONE, line: 30 }
  const good = 'data: {"a":1}\n\n'
  const long = `data: {"a":"${'x'.repeat(30)}"}`
  for (const rest of [long, `${long}\n\n`, `: ${long}`]) {
    t.match(relayText(good + rest, options), { out: good, fault: 'line', held: 0 })
    t.match(relay([Buffer.from(good), ...cutEverywhere(Buffer.from(rest))], options), {
      out: good,
      fault: 'line',
      held: 0,
    })
  }
  t.equal(relayText(`${long.slice(0, 28)}"}\n\n`, options).fault, undefined, 'a line just at it does not')
})

t.test('F-U16 an event over its limit stops the relay, also one of comments', async t => {
  const options = { ...DONE, event: 60 }
  const good = 'data: {"a":1}\n\n'
  for (const line of ['data: {"a":1}\n', ': comment\n', 'x\r'])
    t.match(relayText(good + line.repeat(40), options), { out: good, fault: 'event', held: 0 }, JSON.stringify(line))
})

t.test('F-U16 a limit counts both bytes of a CRLF, cut or not', async t => {
  const options = { ...DONE, event: 19 }
  for (const [last, fault] of [
    ['x', undefined],
    ['xx', 'event'],
  ] as const) {
    const bytes = Buffer.from(`data: 1\r\ndata: 2\r\n${last}`)
    t.equal(relay([bytes], options).fault, fault, last)
    t.equal(relay(cutEverywhere(bytes), options).fault, fault, `${last}, cut`)
  }
})

t.test('F-U16 of two limits that one byte meets, that of lines is reported', async t => {
  t.equal(relayText('x'.repeat(11), { ...DONE, line: 10, event: 10 }).fault, 'line')
  t.equal(relayText('x'.repeat(11), { ...DONE, line: 10, event: 9 }).fault, 'event')
})

t.test('F-U16 never more is held than the limits allow, and a chunk', async () => {
  const options: RelayOptions = { line: 64, event: 200, end: undefined }
  fc.assert(
    fc.property(fc.array(streams, { maxLength: 30 }), places, (parts, at) => {
      const stream = new SseRelay(options)
      for (const chunk of cut(Buffer.concat(parts), at)) {
        stream.push(chunk)
        ok(stream.held <= options.event + chunk.length)
      }
    }),
  )
})

t.test('the first event with data is kept unchanged, up to 64 KiB', async t => {
  const first = 'event: x\r\ndata: {"a":1}\r\n'
  t.equal(relayText(`: hi\n\n${first}\r\ndata: {"b":2}\n\n`).first, first)
  const big = `data: {"a":"${'x'.repeat(64 * 1024)}"}\n\n`
  t.equal(relayText(`${big}data: {"b":2}\n\n`).first, undefined)
})

t.test('what is kept does not hold the chunk', async t => {
  const stream = new SseRelay(DONE)
  const chunk = Buffer.from('data: {"error":1}\n\n')
  stream.push(chunk)
  chunk.fill(0)
  t.equal(String(stream.first), 'data: {"error":1}\n')
  t.equal(String(stream.failure), '{"error":1}')
})

t.test('without a last event, every event is content', async t => {
  const text = 'data: {"a":1}\n\ndata: [DONE]\n\ndata: {"b":2}\n\n'
  t.match(relayText(text, OPEN), { out: text, content: 3, ended: false })
})

t.test('F-U15 any stream, cut anywhere, is relayed alike', async () => {
  const bounds = fc.record({ line: fc.integer({ min: 5, max: 30 }), event: fc.integer({ min: 5, max: 40 }) })
  const options = fc.oneof(
    fc.constantFrom(DONE, TYPED, OPEN),
    bounds.map(limits => ({ ...DONE, ...limits })),
  )
  fc.assert(
    fc.property(streams, places, options, (stream, at, chosen) => {
      const whole = relay([stream], chosen)
      deepStrictEqual(relay(cut(stream, at), chosen), whole)
      deepStrictEqual(relay(cutEverywhere(stream), chosen), whole)
    }),
    { numRuns: 3000 },
  )
})

t.test('F-U15 what goes out and what is held is what came in, but for what is dropped', async () => {
  fc.assert(
    fc.property(streams, stream => {
      const seen = relay([stream])
      ok(stream.toString('latin1').startsWith(seen.out))
      if (seen.fault === undefined) deepStrictEqual(seen.out.length + seen.held + seen.trailing, stream.length)
    }),
    { numRuns: 1000 },
  )
})

t.test('F-U15 what goes out holds the same events as the stream of the standard', async () => {
  const frames = (bytes: Buffer): unknown => new SseDecoder(OPEN).push(bytes)
  fc.assert(
    fc.property(streams, stream => {
      const seen = relay([stream], OPEN)
      if (seen.fault === undefined) deepStrictEqual(frames(Buffer.from(seen.out, 'latin1')), frames(stream))
    }),
    { numRuns: 1000 },
  )
})
