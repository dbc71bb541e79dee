import { deflateRawSync } from 'node:zlib'

/** What becomes of frames: they pass as they are, or the session ends with this code for the side that sent them. */
export type Verdict = 'pass' | 1002 | 1007 | 1009

/** Frames of one side, and what RFC 6455 makes of them where messages are read whole (`framed`) and where bytes pass (`raw`). */
export interface FrameCase {
  readonly what: string
  readonly bytes: (masked: boolean) => Buffer
  readonly raw: Verdict
  readonly framed: Verdict
  /** The text messages that the other side sees, where they pass. */
  readonly texts?: readonly string[]
}

const FIN = 0x80
const [CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10]
const KEY = Buffer.from([0x37, 0xfa, 0x21, 0x3d])

/** One frame: its first byte as it is, any length, masked or not. */
export function made(first: number, payload: Buffer | string, masked: boolean): Buffer {
  const bytes = Buffer.from(payload)
  const { length } = bytes
  const head = Buffer.alloc(length < 126 ? 2 : length < 65_536 ? 4 : 10)
  head[0] = first
  head[1] = (masked ? 0x80 : 0) | (length < 126 ? length : length < 65_536 ? 126 : 127)
  if (head.length === 4) head.writeUInt16BE(length, 2)
  if (head.length === 10) head.writeUInt32BE(length, 6)
  if (!masked) return Buffer.concat([head, bytes])
  return Buffer.concat([head, KEY, bytes.map((byte, at) => byte ^ (KEY[at & 3] ?? 0))])
}

type Piece = readonly [first: number, payload: Buffer | string]

const all =
  (...pieces: readonly Piece[]) =>
  (masked: boolean): Buffer =>
    Buffer.concat(pieces.map(([first, payload]) => made(first, payload, masked)))

const passes = (what: string, texts: readonly string[], ...pieces: readonly Piece[]): FrameCase => ({
  what,
  bytes: all(...pieces),
  raw: 'pass',
  framed: 'pass',
  texts,
})

const judged = (what: string, raw: Verdict, framed: Verdict, ...pieces: readonly Piece[]): FrameCase => ({
  what,
  bytes: all(...pieces),
  raw,
  framed,
})

function code(value: number, reason: Buffer | string = ''): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return Buffer.concat([bytes, Buffer.from(reason)])
}

const EURO = Buffer.from('€')
/** An overlong slash, a lone surrogate, beyond U+10FFFF, a byte that never is in UTF-8. */
const NO_UTF8 = [[0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xff]].map(bytes => Buffer.from(bytes))

/** The cases of the Autobahn suite's chapters 1 to 7, 9 and 12, those about what one side sends. */
export const FRAME_CASES: readonly FrameCase[] = [
  ...[0, 125, 126, 127, 128, 65_535, 65_536, 65_537].map(size =>
    passes(`1.1 a text of ${size} bytes`, ['*'.repeat(size)], [FIN | TEXT, '*'.repeat(size)]),
  ),
  ...[0, 125, 126, 65_535, 65_536].map(size =>
    passes(`1.2 a binary message of ${size} bytes`, [], [FIN | BINARY, Buffer.alloc(size, 0xfe)]),
  ),
  passes(
    '2.1 pings, the largest of 125 bytes',
    ['x'],
    [FIN | PING, ''],
    [FIN | PING, 'p'.repeat(125)],
    [FIN | TEXT, 'x'],
  ),
  passes('2.7 a pong without a ping', ['x'], [FIN | PONG, 'unasked'], [FIN | TEXT, 'x']),
  judged('2.5 a ping of 126 bytes', 1002, 1002, [FIN | PING, Buffer.alloc(126)]),
  ...[0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70].map(bits =>
    judged(`3 reserved bits ${bits.toString(16)}`, 1002, 1002, [FIN | bits | TEXT, 'x']),
  ),
  judged('3 a reserved bit of a ping', 1002, 1002, [FIN | 0x10 | PING, '']),
  ...[3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map(opcode => judged(`4 opcode ${opcode}`, 1002, 1002, [FIN | opcode, 'x'])),
  judged('5.1 a ping in fragments', 1002, 1002, [PING, 'a'], [FIN | CONTINUATION, 'b']),
  judged('5.2 a pong in fragments', 1002, 1002, [PONG, 'a'], [FIN | CONTINUATION, 'b']),
  judged('5 a close frame in fragments', 1002, 1002, [CLOSE, code(1000)]),
  passes('5.3 a text in fragments', ['fragment'], [TEXT, 'frag'], [FIN | CONTINUATION, 'ment']),
  passes('5.6 a ping between fragments', ['ab'], [TEXT, 'a'], [FIN | PING, 'p'], [FIN | CONTINUATION, 'b']),
  judged('5.9 a fragment of nothing', 1002, 1002, [FIN | CONTINUATION, 'x']),
  judged('5.11 a first fragment of nothing', 1002, 1002, [CONTINUATION, 'x'], [FIN | TEXT, 'y']),
  judged('5.18 a text inside a text', 1002, 1002, [TEXT, 'a'], [FIN | TEXT, 'b']),
  judged('5.18 a binary message inside a text', 1002, 1002, [TEXT, 'a'], [FIN | BINARY, 'b']),
  passes(
    '5.19 fragments, empty ones among them, with pings between',
    ['abc', 'd'],
    [TEXT, ''],
    [CONTINUATION, 'ab'],
    [FIN | PING, ''],
    [CONTINUATION, ''],
    [FIN | PONG, ''],
    [FIN | CONTINUATION, 'c'],
    [FIN | TEXT, 'd'],
  ),
  passes('6.2 UTF-8 of every length', ['aé€😀'], [FIN | TEXT, 'aé€😀']),
  passes(
    '6.2 a character over three fragments',
    ['€'],
    [TEXT, EURO.subarray(0, 1)],
    [CONTINUATION, EURO.subarray(1, 2)],
    [FIN | CONTINUATION, EURO.subarray(2)],
  ),
  ...NO_UTF8.map(bytes =>
    judged(`6.3 no UTF-8: ${bytes.toString('hex')}`, 'pass', 1007, [
      FIN | TEXT,
      Buffer.concat([Buffer.from('a'), bytes]),
    ]),
  ),
  judged('6.4 no UTF-8, over two fragments', 'pass', 1007, [TEXT, EURO.subarray(0, 1)], [FIN | CONTINUATION, 'a']),
  judged('6.6 a text that ends inside a character', 'pass', 1007, [FIN | TEXT, EURO.subarray(0, 2)]),
  judged('7.3 a close frame of one byte', 'pass', 1002, [FIN | CLOSE, 'x']),
  judged('7.3 a close frame of 126 bytes', 1002, 1002, [FIN | CLOSE, code(1000, 'r'.repeat(124))]),
  judged('7.5 a reason that is no UTF-8', 'pass', 1007, [FIN | CLOSE, code(1000, NO_UTF8[0])]),
  ...[0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999, 5000, 65_535].map(value =>
    judged(`7.9 close code ${value}`, 'pass', 1002, [FIN | CLOSE, code(value)]),
  ),
  {
    what: '9 a length that no number holds',
    bytes: masked => Buffer.concat([Buffer.from([0x82, masked ? 0xff : 0x7f, 0, 0x20, 0, 0, 0, 0, 0, 0]), KEY]),
    raw: 1009,
    framed: 1009,
  },
  judged('12 a deflate bomb, though no compression was agreed on', 1002, 1002, [
    FIN | 0x40 | TEXT,
    deflateRawSync(Buffer.alloc(8 * 1024 * 1024)),
  ]),
  { what: 'masked the wrong way', bytes: masked => made(FIN | TEXT, 'x', !masked), raw: 1002, framed: 1002 },
]
