import { createHmac, timingSafeEqual } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** How bytes are written: lower-case letters and digits (RFC 4648, section 6), or decimal digits alone. */
export type Alphabet = 'letters' | 'digits'

/** Known to every simulator, so that what one has begun any other can go on with. */
const SECRET = 'the simulator knows its tasks by their names'
const CODE_BYTES = 6
const MAX_TOKEN_BYTES = 2048
const MAX_TOKEN_CHARS = 2048
/** What names are packed with in mind: the last is the likeliest. */
const COMMON = Buffer.from(
  '"action":"IMAGINE","from":,"index":"samples":1content.status=poll.status=takes=["imagine","operation","pipeline",' +
    '"deferred","relayed","video","sim-video","polls=4",{"width":1024,"height":1792,"width":1280,"height":720,"seconds":4}]',
)
const LETTERS = 'abcdefghijklmnopqrstuvwxyz234567'
/** Written before the bytes of a number, whose leading zeros would be lost. */
const ONE = 1n
const BITS = 5

/** A short text as a name that only a simulator makes: packed, behind a code over it (HMAC, RFC 2104). */
export function seal(text: string, alphabet: Alphabet): string {
  const packed = deflateRawSync(text, { level: 9, dictionary: COMMON })
  return spelled(Buffer.concat([code(packed), packed]), alphabet)
}

/** The text that {@link seal} made this name of; nothing where it did not. Never throws. */
export function unseal(name: string, alphabet: Alphabet): string | undefined {
  if (name.length > MAX_TOKEN_CHARS) return undefined
  const bytes = alphabet === 'letters' ? fromLetters(name) : fromDigits(name)
  if (bytes === undefined || bytes.length <= CODE_BYTES) return undefined
  const packed = bytes.subarray(CODE_BYTES)
  if (!timingSafeEqual(bytes.subarray(0, CODE_BYTES), code(packed))) return undefined
  // One name for one task: other spellings of the same bytes are nobody's.
  if (spelled(bytes, alphabet) !== name) return undefined
  return inflateRawSync(packed, { maxOutputLength: MAX_TOKEN_BYTES, dictionary: COMMON }).toString()
}

function spelled(bytes: Buffer, alphabet: Alphabet): string {
  return alphabet === 'letters' ? toLetters(bytes) : toDigits(bytes)
}

function code(packed: Buffer): Buffer {
  return createHmac('sha256', SECRET).update(packed).digest().subarray(0, CODE_BYTES)
}

function toLetters(bytes: Buffer): string {
  let text = ''
  let held = 0
  let bits = 0
  for (const byte of bytes) {
    held = (held << 8) | byte
    for (bits += 8; bits >= BITS; bits -= BITS) text += LETTERS[(held >> (bits - BITS)) & 31]
    held &= (1 << bits) - 1
  }
  return bits === 0 ? text : text + LETTERS[(held << (BITS - bits)) & 31]
}

function fromLetters(text: string): Buffer | undefined {
  if (!/^[a-z2-7]+$/.test(text)) return undefined
  const bytes: number[] = []
  let held = 0
  let bits = 0
  for (const letter of text) {
    held = (held << BITS) | LETTERS.indexOf(letter)
    bits += BITS
    if (bits >= 8) {
      bits -= 8
      bytes.push(held >> bits)
      held &= (1 << bits) - 1
    }
  }
  return Buffer.from(bytes)
}

function toDigits(bytes: Buffer): string {
  return BigInt(`0x${ONE}${bytes.toString('hex')}`).toString()
}

function fromDigits(text: string): Buffer | undefined {
  if (!/^[1-9]\d*$/.test(text)) return undefined
  const hex = BigInt(text).toString(16)
  return hex.startsWith('1') && hex.length % 2 === 1 ? Buffer.from(hex.slice(1), 'hex') : undefined
}
