import t from 'tap'
import type { Frame } from '../../src/core/codec.js'
import type { Framing } from '../../src/core/route-settings.js'
import { contentType, FrameWriter } from '../../src/wire/framing.js'
import { JsonStreamDecoder } from '../../src/wire/json-stream.js'
import { SseDecoder } from '../../src/wire/sse.js'
import { fc } from '../helpers/property.js'

const FRAMINGS: readonly Framing[] = ['sse', 'sse-crlf', 'ndjson', 'array']
const LIMIT = 1e6

function encode(framing: Framing, frames: readonly Frame[]): string {
  const writer = new FrameWriter(framing)
  for (const frame of frames) writer.add(frame)
  writer.close()
  return writer.take().toString()
}

function decode(framing: Framing, text: string): Frame[] {
  const bytes = Buffer.from(text)
  if (framing.startsWith('sse')) return [...new SseDecoder({ line: LIMIT, event: LIMIT }).push(bytes)]
  const decoder = new JsonStreamDecoder({ event: LIMIT })
  const frames = decoder.push(bytes).map(data => ({ data }))
  if (decoder.end() !== 'whole') throw new Error('cut')
  return frames
}

const TWO: readonly Frame[] = [{ data: '{"a":1}' }, { event: 'done', data: '{"b":2}' }]

t.test('events with LF', async t => {
  t.equal(encode('sse', TWO), 'data: {"a":1}\n\nevent: done\ndata: {"b":2}\n\n')
})

t.test('events with CRLF', async t => {
  t.equal(encode('sse-crlf', TWO), 'data: {"a":1}\r\n\r\nevent: done\r\ndata: {"b":2}\r\n\r\n')
})

t.test('a document a line', async t => {
  t.equal(encode('ndjson', TWO), '{"a":1}\n{"b":2}\n')
  t.equal(encode('ndjson', [{ data: '{\r\n  "a": 1\n}' }]), '{   "a": 1 }\n')
})

t.test('one array', async t => {
  t.equal(encode('array', TWO), '[{"a":1}\n,\r\n{"b":2}\n]')
  t.same(JSON.parse(encode('array', TWO)), [{ a: 1 }, { b: 2 }])
})

t.test('each has its content type', async t => {
  t.same(FRAMINGS.map(contentType), [
    'text/event-stream; charset=utf-8',
    'text/event-stream',
    'application/x-ndjson',
    'application/json; charset=UTF-8',
  ])
})

t.test('data over several lines stays data', async t => {
  const frames = [{ data: 'a\nb' }, { event: 'x', data: '\n' }]
  t.same(decode('sse', encode('sse', frames)), frames)
  t.same(decode('sse-crlf', encode('sse-crlf', frames)), frames)
})

t.test('what is encoded is decoded again', async t => {
  const objects = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(objects, fc.constantFrom(...FRAMINGS), fc.constantFrom(0, 2), (values, framing, indent) => {
      const frames = values.map(value => ({ data: JSON.stringify(value, undefined, indent) }))
      const read = decode(framing, encode(framing, frames)).map(({ data }) => JSON.parse(data))
      t.same(read, JSON.parse(JSON.stringify(values)))
    }),
  )
})
