import { EventStreamCodec } from '@smithy/core/event-streams'
import t from 'tap'
import { EventStreamDecoder, EventStreamError, encodeMessage } from '../../src/wire/eventstream.js'
import { frameOf, messageOf } from '../../src/wire/eventstream-frame.js'
import { WireLimitError } from '../../src/wire/sse.js'
import { fc } from '../helpers/property.js'

const LIMIT = 64 * 1024
const codec = new EventStreamCodec(
  bytes => Buffer.from(bytes).toString('utf8'),
  text => Buffer.from(text),
)

const HEADERS = [
  [':event-type', 'contentBlockDelta'],
  [':content-type', 'application/json'],
  [':message-type', 'event'],
] as const

function one(text: string): Buffer {
  return encodeMessage(HEADERS, Buffer.from(text))
}

/** What the library of the protocol's clients makes of the same. */
function byLibrary(text: string): Buffer {
  const headers = Object.fromEntries(HEADERS.map(([name, value]) => [name, { type: 'string' as const, value }]))
  return Buffer.from(codec.encode({ headers, body: Buffer.from(text) }))
}

function read(...chunks: readonly Uint8Array[]): readonly string[] {
  const decoder = new EventStreamDecoder({ event: LIMIT })
  const texts = chunks.flatMap(chunk => decoder.push(chunk).map(({ payload }) => payload.toString()))
  return [...texts, decoder.end()]
}

t.test('a message is the one that the library of its clients writes', async t => {
  for (const text of ['', '{}', '{"text":"☂"}', 'x'.repeat(10_000)]) t.same(one(text), byLibrary(text))
})

t.test('it reads what that library writes, headers of any type', async t => {
  const headers = {
    yes: { type: 'boolean', value: true },
    no: { type: 'boolean', value: false },
    byte: { type: 'byte', value: 7 },
    short: { type: 'short', value: 300 },
    integer: { type: 'integer', value: 70_000 },
    bytes: { type: 'binary', value: Buffer.from([1, 2, 3]) },
    when: { type: 'timestamp', value: new Date(0) },
    id: { type: 'uuid', value: '01234567-89ab-cdef-0123-456789abcdef' },
    ':event-type': { type: 'string', value: 'metadata' },
  } as const
  const [message] = new EventStreamDecoder({ event: LIMIT }).push(codec.encode({ headers, body: Buffer.from('{}') }))
  t.same([...(message?.headers ?? [])], [[':event-type', 'metadata']])
  t.equal(message?.payload.toString(), '{}')
})

const THREE = Buffer.concat([one('{"a":1}'), one(''), one('{"b":"☂"}')])
const TEXTS = ['{"a":1}', '', '{"b":"☂"}', 'whole']

t.test('a stream that is cut into two or three at any place is the same', async t => {
  const differ: number[] = []
  for (let at = 0; at <= THREE.length; at++) {
    const halves = read(THREE.subarray(0, at), THREE.subarray(at))
    const thirds = read(THREE.subarray(0, at), THREE.subarray(at, at + 1), THREE.subarray(at + 1))
    if (JSON.stringify([halves, thirds]) !== JSON.stringify([TEXTS, TEXTS])) differ.push(at)
  }
  t.same(differ, [])
  t.same(read(...Array.from(THREE, byte => Buffer.from([byte]))), TEXTS, 'byte by byte')
})

t.test('a stream that ends within a message is cut', async t => {
  const ends = new Set([0, one('{"a":1}').length, one('{"a":1}').length + one('').length, THREE.length])
  for (let at = 0; at <= THREE.length; at++) {
    t.equal(read(THREE.subarray(0, at)).at(-1), ends.has(at) ? 'whole' : 'cut', `after ${at} bytes`)
  }
})

const FLIPS = [0x01, 0x10, 0x80]

/** Places where a byte is wrong, and cuts, at which nothing was found. */
function unfound(bytes: Buffer, wrongs: readonly number[], cuts: readonly number[]): readonly string[] {
  const places: string[] = []
  for (const wrong of wrongs) {
    for (const flip of FLIPS) {
      const spoiled = Buffer.from(bytes)
      spoiled[wrong] = (spoiled[wrong] ?? 0) ^ flip
      for (const cut of cuts) if (!isRefused(spoiled, cut)) places.push(`byte ${wrong} ^ ${flip}, cut ${cut}`)
    }
  }
  return places
}

function isRefused(bytes: Buffer, cut: number): boolean {
  try {
    read(bytes.subarray(0, cut), bytes.subarray(cut))
    return false
  } catch (error) {
    return error instanceof EventStreamError
  }
}

/** Every place of a message. */
function placesOf({ length }: Buffer): readonly number[] {
  return Array.from({ length }, (_, index) => index)
}

t.test('a byte that is wrong anywhere is found by a checksum, at any cut', async t => {
  const short = encodeMessage([[':event-type', 'x']], Buffer.from('{}'))
  t.same(unfound(short, placesOf(short), [...placesOf(short), short.length]), [], 'every byte at every cut')
  const long = one('{"text":"rain"}')
  t.same(unfound(long, placesOf(long), [0, 4, 8, 11, 12, 13, 57, long.length - 4, long.length - 1]), [], 'every byte')
  const wrongs = [0, 3, 4, 7, 8, 11, 12, 13, 57, long.length - 16, long.length - 4, long.length - 1]
  t.same(unfound(long, wrongs, [...placesOf(long), long.length]), [], 'every cut')
})

t.test('what came whole before a wrong message is there, and then the fault', async t => {
  const decoder = new EventStreamDecoder({ event: LIMIT })
  const spoiled = one('{"b":2}')
  spoiled[spoiled.length - 1] = (spoiled.at(-1) ?? 0) ^ 1
  const texts = decoder
    .push(Buffer.concat([one('{"a":1}'), spoiled, one('{"c":3}')]))
    .map(({ payload }) => `${payload}`)
  t.same(texts, ['{"a":1}'])
  t.throws(() => decoder.push(one('{"d":4}')), EventStreamError)
  t.throws(() => decoder.end(), EventStreamError)
})

t.test('a message over the limit is refused by its prelude, before its bytes come', async t => {
  const bytes = one('x'.repeat(LIMIT))
  const decoder = new EventStreamDecoder({ event: LIMIT })
  t.same(decoder.push(bytes.subarray(0, 11)), [])
  t.throws(() => decoder.push(bytes.subarray(11, 12)), WireLimitError)
})

t.test('lengths that contradict each other, and headers that do not end, are refused', async t => {
  const { crc32 } = await import('node:zlib')
  const prelude = (length: number, headers: number): Buffer => {
    const bytes = Buffer.alloc(12)
    bytes.writeUInt32BE(length, 0)
    bytes.writeUInt32BE(headers, 4)
    bytes.writeUInt32BE(crc32(bytes.subarray(0, 8)), 8)
    return bytes
  }
  for (const [length, headers] of [
    [0, 0],
    [15, 0],
    [16, 1],
    [200_000, 150_000],
  ] as const) {
    t.throws(() => read(prelude(length, headers)), EventStreamError, `${length} with ${headers}`)
  }
  for (const headers of [[5], [1, 97], [1, 97, 7], [1, 97, 7, 0], [1, 97, 7, 0, 5, 1], [1, 97, 99], [1, 97, 4, 0]]) {
    const body = Buffer.concat([prelude(16 + headers.length, headers.length), Buffer.from(headers)])
    const end = Buffer.alloc(4)
    end.writeUInt32BE(crc32(body))
    t.throws(() => read(Buffer.concat([body, end])), EventStreamError, `${headers}`)
  }
})

t.test('any bytes: messages, a fault of the format, or a limit, and nothing else', async () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
      try {
        read(bytes)
        return true
      } catch (error) {
        return error instanceof EventStreamError || error instanceof WireLimitError
      }
    }),
  )
})

t.test('events, exceptions, errors and wrapped messages as frames', async t => {
  const frame = (headers: readonly (readonly [string, string])[], text: string): unknown => {
    const [message] = new EventStreamDecoder({ event: LIMIT }).push(encodeMessage(headers, Buffer.from(text)))
    return message && frameOf(message)
  }
  t.same(frame(HEADERS, '{"a":1}'), { event: 'contentBlockDelta', data: '{"a":1}' })
  const exception = [
    [':exception-type', 'throttlingException'],
    [':message-type', 'exception'],
  ] as const
  t.same(frame(exception, '{"message":"slow"}'), { event: 'throttlingException', data: '{"message":"slow"}' })
  const error = [
    [':error-code', 'x'],
    [':error-message', 'away'],
    [':message-type', 'error'],
  ] as const
  t.same(frame(error, ''), { event: 'xException', data: '{"message":"away"}' })
  const inner = '{"type":"message_stop"}'
  const chunk = [
    [':event-type', 'chunk'],
    [':message-type', 'event'],
  ] as const
  const bytes = Buffer.from(inner).toString('base64')
  t.same(frame(chunk, JSON.stringify({ bytes, p: 'abc' })), { event: 'message_stop', data: inner })
  for (const one of [
    { event: 'metadata', data: '{}' },
    { event: 'validationException', data: '{"message":"no"}' },
  ]) {
    const [message] = new EventStreamDecoder({ event: LIMIT }).push(messageOf(one))
    t.same(message && frameOf(message), one)
  }
})
