import { randomBytes } from 'node:crypto'
import t from 'tap'
import { FrameReader, type FrameSink } from '../../src/wire/frame-reader.js'
import { closeFrame, frame, pingFrame, textFrame, textFrames } from '../../src/wire/frames.js'
import { fc } from '../helpers/property.js'
import { cut, places } from './cuts.js'

/** Everything that a reader tells, in one line each, and what it lets pass. */
function read(chunks: readonly Buffer[], masked: boolean, refuse?: string) {
  const told: string[] = []
  let text = ''
  const sink: FrameSink = {
    begin: isText => {
      text = ''
      told.push(isText ? 'text' : 'binary')
    },
    text: (bytes, start, end) => {
      text += bytes.toString('latin1', start, end)
      return refuse === undefined || !text.includes(refuse)
    },
    end: isText => {
      told.push(isText ? `end ${text}` : 'end')
      return true
    },
    close: (code, reason) => told.push(`close ${code} ${reason}`),
  }
  const reader = new FrameReader(masked, true, sink)
  let passed = 0
  for (const chunk of chunks) passed += reader.push(Buffer.from(chunk))
  return { told, passed, fault: reader.fault?.code, between: reader.between, closed: reader.closed }
}

/** The same frame, fragmented or not, of any opcode and length. */
function bytesOf(opcode: number, payload: Buffer, masked: boolean, fin = true): Buffer {
  const { length } = payload
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10)
  head[1] = length < 126 ? length : length < 65_536 ? 126 : 127
  if (head.length === 4) head.writeUInt16BE(length, 2)
  if (head.length === 10) head.writeUInt32BE(length, 6)
  head[0] = (fin ? 0x80 : 0) | opcode
  if (!masked) return Buffer.concat([head, payload])
  head[1] = (head[1] ?? 0) | 0x80
  const key = randomBytes(4)
  return Buffer.concat([head, key, payload.map((byte, at) => byte ^ (key[at & 3] ?? 0))])
}

const message = fc.record({
  isText: fc.boolean(),
  payload: fc.uint8Array({ maxLength: 400 }).map(bytes => Buffer.from(bytes.map(byte => 0x20 + (byte % 0x5f)))),
  long: fc.integer({ min: 0, max: 40 }),
  parts: fc.integer({ min: 1, max: 4 }),
  ping: fc.boolean(),
})

t.test('frames cut anywhere are read the same, and all their bytes pass', async () => {
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), places, fc.boolean(), (messages, cuts, masked) => {
      const frames: Buffer[] = []
      const expected: string[] = []
      for (const { isText, payload: short, long, parts, ping } of messages) {
        const payload = long === 40 ? Buffer.alloc(70_000, 'x') : Buffer.concat(Array(1 + (long % 4)).fill(short))
        const size = Math.ceil(payload.length / parts)
        for (let part = 0; part < parts; part++) {
          const piece = payload.subarray(part * size, (part + 1) * size)
          frames.push(bytesOf(part > 0 ? 0 : isText ? 1 : 2, piece, masked, part === parts - 1))
          if (ping && part < parts - 1) frames.push(pingFrame(masked))
        }
        expected.push(isText ? 'text' : 'binary', isText ? `end ${payload.toString('latin1')}` : 'end')
      }
      frames.push(closeFrame(4001, 'enough', masked))
      expected.push('close 4001 enough')
      const bytes = Buffer.concat(frames)
      const { told, passed, fault, closed } = read(cut(bytes, cuts), masked)
      return (
        JSON.stringify(told) === JSON.stringify(expected) && passed === bytes.length && fault === undefined && closed
      )
    }),
    { numRuns: 300 },
  )
})

t.test('what breaks the protocol stops the reader before that frame', async t => {
  const good = textFrame('good', true)
  const cases: [string, Buffer, number][] = [
    ['a reserved bit', Buffer.from([0xc1, 0x80, 0, 0, 0, 0]), 1002],
    ['a frame without a mask', textFrame('x', false), 1002],
    ['an opcode that is not known', Buffer.from([0x83, 0x80, 0, 0, 0, 0]), 1002],
    ['an end without a beginning', bytesOf(0, Buffer.from('x'), true), 1002],
    ['a fragmented ping', bytesOf(9, Buffer.from('x'), true, false), 1002],
    ['a long ping', bytesOf(9, Buffer.alloc(126), true), 1002],
    [
      'a length that no number holds',
      Buffer.from([0x82, 0xff, 0x7f, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0]),
      1009,
    ],
  ]
  for (const [what, bytes, code] of cases) {
    const { passed, fault, between, told } = read([Buffer.concat([good, bytes, good])], true)
    t.same(
      { passed, fault, between, told: told.slice(0, 2) },
      { passed: good.length, fault: code, between: true, told: ['text', 'end good'] },
      what,
    )
  }
  const inside = read([bytesOf(1, Buffer.from('a'), true, false), textFrame('b', true)], true)
  t.equal(inside.fault, 1002, 'a message inside another')
  t.equal(read([textFrame('x', true)], false).fault, 1002, 'a server that masks')
})

t.test('a frame that is refused does not pass, and those before it do', async t => {
  const [good, bad] = [textFrame('good', true), textFrame('this is bad, and more', true)]
  const whole = read([Buffer.concat([good, bad, good])], true, 'bad')
  t.same({ passed: whole.passed, between: whole.between }, { passed: good.length, between: true })
  const begun = read([Buffer.concat([good, bad.subarray(0, 9)]), bad.subarray(9)], true, 'bad')
  t.same({ passed: begun.passed, between: begun.between }, { passed: good.length + 9, between: false })
})

t.test('a close frame without a code is 1005, and nothing passes behind it', async t => {
  const close = frame(8, Buffer.alloc(0), true)
  const { told, passed, closed } = read([Buffer.concat([close, textFrame('more', true)])], true)
  t.same({ told, passed, closed }, { told: ['close 1005 '], passed: close.length, closed: true })
})

t.test('messages that are written together are read as they were, at every length of a head', async () => {
  const text = fc.oneof(
    fc.string({ unit: 'grapheme', maxLength: 200 }),
    fc.constantFrom(125, 126, 65_535, 65_536).map(many => 'x'.repeat(many)),
  )
  fc.assert(
    fc.property(fc.array(text, { maxLength: 5 }), texts => {
      const { told, fault, between } = read([textFrames(texts)], false)
      const expected = texts.flatMap(one => ['text', `end ${Buffer.from(one).toString('latin1')}`])
      return JSON.stringify(told) === JSON.stringify(expected) && fault === undefined && between
    }),
    { numRuns: 200 },
  )
})
