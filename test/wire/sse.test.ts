import { deepStrictEqual } from 'node:assert/strict'
import t from 'tap'
import { encodeSse, SseDecoder, WireLimitError } from '../../src/wire/sse.js'
import { fc } from '../helpers/property.js'
import { cut, cutEverywhere, cutsInTwo, places } from './cuts.js'
import { streams } from './sse-streams.js'

type Frame = Parameters<typeof encodeSse>[0]
type SseLimits = ConstructorParameters<typeof SseDecoder>[0]

const WIDE: SseLimits = { line: 1e6, event: 1e6 }

const NOTHING = Buffer.alloc(0)

/** What a decoder makes of a stream: its frames, and the limit that it met. */
function decode(chunks: readonly Uint8Array[], limits = WIDE): { frames: Frame[]; limit: string | undefined } {
  const decoder = new SseDecoder(limits)
  const frames: Frame[] = []
  try {
    for (const chunk of [...chunks, NOTHING]) frames.push(...decoder.push(chunk))
    return { frames, limit: undefined }
  } catch (error) {
    if (!(error instanceof WireLimitError)) throw error
    return { frames, limit: error.limit }
  }
}

function framesOf(text: string): Frame[] {
  return decode([Buffer.from(text)]).frames
}

/** The standard's algorithm, word for word, over a whole text. */
function reference(text: string): Frame[] {
  const frames: Frame[] = []
  let data = ''
  let event = ''
  let id: string | undefined
  for (const line of text
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/)
    .slice(0, -1)) {
    if (line === '') {
      if (data !== '')
        frames.push({ data: data.slice(0, -1), ...(event && { event }), ...(id !== undefined && { id }) })
      data = ''
      event = ''
      id = undefined
      continue
    }
    const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/s.exec(line) ?? []
    if (line.startsWith(':')) continue
    if (name === 'data') data += `${value}\n`
    if (name === 'event') event = value
    if (name === 'id' && !value.includes('\0')) id = value
  }
  return frames
}

t.test('an event is its data lines, up to a blank line', async t => {
  t.same(framesOf('data: a\n\n'), [{ data: 'a' }])
  t.same(framesOf('data: a\ndata: b\ndata:\ndata: c\n\n'), [{ data: 'a\nb\n\nc' }])
  t.same(framesOf('data: 1\n\ndata: 2\n\n'), [{ data: '1' }, { data: '2' }])
})

t.test('F-U15 lines end in LF, CRLF or CR, also mixed', async t => {
  for (const end of ['\n', '\r\n', '\r']) t.same(framesOf(`data: a${end}data: b${end}${end}`), [{ data: 'a\nb' }])
  t.same(framesOf('data: a\r\ndata: b\n\rdata: c\r\r\n'), [{ data: 'a\nb' }, { data: 'c' }])
})

t.test('F-U15 a byte order mark at the start is not a part of the first line', async t => {
  t.same(framesOf('\uFEFFdata: a\n\n'), [{ data: 'a' }])
  t.same(framesOf('\uFEFF\n\uFEFFdata: a\n\n'), [], 'elsewhere it is')
})

t.test('F-U15 data may come without a space, without a value, without a colon', async t => {
  t.same(framesOf('data:a\n\n'), [{ data: 'a' }])
  t.same(framesOf('data:  a \n\n'), [{ data: ' a ' }], 'one space is dropped')
  t.same(framesOf('data:\ta\n\n'), [{ data: '\ta' }])
  t.same(framesOf('data\n\n'), [{ data: '' }])
  t.same(framesOf('data:\n\ndata\ndata\n\n'), [{ data: '' }, { data: '\n' }])
})

t.test('F-U15 comments, unknown fields and events without data are passed over', async t => {
  t.same(framesOf(': a comment\n\n:\n:\n\n'), [])
  t.same(framesOf('event: x\nid: 1\n\ndata: a\n\n'), [{ data: 'a' }], 'their names are forgotten')
  t.same(framesOf('Data: a\n data: b\ndata : c\nretry: 1\nx\n\n'), [])
  t.same(framesOf(':data: no\ndata: yes\n\n'), [{ data: 'yes' }])
})

t.test('F-U15 a comment flood costs nothing but time', async t => {
  const flood = Buffer.from(': x\n\n'.repeat(100_000))
  t.same(decode([flood, Buffer.from('data: a\n\n')], { line: 10, event: 20 }), {
    frames: [{ data: 'a' }],
    limit: undefined,
  })
})

t.test('an event may have a name and an id; the last of each counts', async t => {
  t.same(framesOf('event: a\nid: 1\ndata: x\nevent: b\nid: 2\n\n'), [{ event: 'b', data: 'x', id: '2' }])
  t.same(framesOf('event: a\nevent\ndata: x\nid\n\n'), [{ data: 'x', id: '' }])
})

t.test('F-U15 an id with NUL is not one; NUL in data is data', async t => {
  t.same(framesOf('id: a\u0000b\ndata: x\u0000y\n\n'), [{ data: 'x\u0000y' }])
  t.same(framesOf('id: 1\nid: \u0000\ndata: x\n\n'), [{ data: 'x', id: '1' }])
})

t.test('an event that no blank line ends is not one', async t => {
  t.same(framesOf('data: a\n\ndata: b\n'), [{ data: 'a' }])
  t.same(framesOf('data: a\n\ndata: b'), [{ data: 'a' }])
})

t.test('invalid UTF-8 becomes U+FFFD', async t => {
  t.same(decode([Buffer.from('646174613a20ff0a0a', 'hex')]).frames, [{ data: '\uFFFD' }])
})

t.test('F-U15 a stream cut anywhere gives the same frames', async t => {
  const stream = Buffer.from('\uFEFF: c\r\nevent: é\r\ndata: 😀\rdata: b\n\r\n\rdata: [DONE]\n\ndata\r\n\r\n')
  const whole = decode([stream])
  t.equal(whole.frames.length, 3)
  t.same(decode(cutEverywhere(stream)), whole)
  for (const pieces of cutsInTwo(stream)) t.same(decode(pieces), whole, `at ${pieces[0]?.length}`)
})

t.test('F-U15 any stream, cut anywhere, gives the frames of the standard', async () => {
  fc.assert(
    fc.property(streams, places, (stream, at) => {
      const expected = { frames: reference(stream.toString()), limit: undefined }
      deepStrictEqual(decode([stream]), expected)
      deepStrictEqual(decode(cut(stream, at)), expected)
      deepStrictEqual(decode(cutEverywhere(stream)), expected)
    }),
    { numRuns: 1000 },
  )
})

t.test('F-U16 a line or an event over its limit is an error, behind the frames before it', async t => {
  const limits = { line: 20, event: 50 }
  const good = 'data: a\n\n'
  t.same(decode([Buffer.from(`${good}data: ${'x'.repeat(15)}`)], limits), { frames: [{ data: 'a' }], limit: 'line' })
  t.same(decode([Buffer.from(`${good}data: ${'x'.repeat(14)}\n\n`)], limits).limit, undefined)
  t.same(decode([Buffer.from(good + 'data: 1234\n'.repeat(5))], limits), { frames: [{ data: 'a' }], limit: 'event' })
  t.same(decode([Buffer.from(`${good}${':123456789\n'.repeat(5)}`)], limits).limit, 'event', 'comments count')
})

t.test('F-U16 a decoder that met a limit reads no further', async t => {
  const decoder = new SseDecoder({ line: 5, event: 100 })
  t.throws(() => decoder.push(Buffer.from('data: abc')), { name: 'WireLimitError', limit: 'line' })
  t.throws(() => decoder.push(Buffer.from('\n\n')), WireLimitError)
  t.throws(() => decoder.push(NOTHING), WireLimitError)
})

t.test('F-U16 limits are met at the same place however the stream is cut', async () => {
  const limits = fc.record({ line: fc.integer({ min: 5, max: 20 }), event: fc.integer({ min: 5, max: 40 }) })
  fc.assert(
    fc.property(streams, places, limits, (stream, at, bounds) => {
      const whole = decode([stream], bounds)
      deepStrictEqual(decode(cut(stream, at), bounds), whole)
      deepStrictEqual(decode(cutEverywhere(stream), bounds), whole)
    }),
    { numRuns: 1000 },
  )
})

t.test('a frame is written so that it is read back', async t => {
  t.equal(encodeSse({ data: '{"a":1}' }), 'data: {"a":1}\n\n')
  t.equal(encodeSse({ event: 'x', id: '1', data: 'a\nb' }), 'event: x\nid: 1\ndata: a\ndata: b\n\n')
  t.equal(encodeSse({ data: 'a\r\nb\rc' }), 'data: a\ndata: b\ndata: c\n\n')
  t.equal(encodeSse({ event: 'x\ndata: y', id: '1\r\0', data: '' }), 'event: xdata: y\nid: 1\ndata: \n\n')
})

t.test('any frame without line breaks in its name and CR in its data comes back as it was', async () => {
  const text = fc.string({ unit: 'grapheme' }).map(value => value.replace(/[\r\n\0]/g, ''))
  const frame = fc.record(
    { data: fc.array(text).map(lines => lines.join('\n')), event: text.filter(name => name !== ''), id: text },
    { requiredKeys: ['data'] },
  )
  fc.assert(
    fc.property(fc.array(frame), frames => {
      const decoded = framesOf(frames.map(each => encodeSse(each as Frame)).join(''))
      deepStrictEqual(
        decoded,
        frames.map(each => ({ ...each })),
      )
    }),
  )
})
