import { createHmac, timingSafeEqual } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'

/** How bytes are written: lower-case letters and digits (those of RFC 4648, section 6), or decimal digits alone. */
export type Alphabet = 'letters' | 'digits'

/** Known to every simulator, so that any of them can continue a task of another. */
const SECRET = 'the simulator knows its tasks by their names'
const CODE_BYTES = 6
const MAX_TOKEN_BYTES = 2048
const MAX_TOKEN_CHARS = 2048
/** What names are packed with in mind: the last is the likeliest. */
const COMMON = Buffer.from(
  '"action":"IMAGINE","from":,"index":"samples":1content.status=poll.status=takes=["imagine","operation","pipeline",' +
    '"deferred","relayed","video","sim-video","polls=4",{"width":1024,"height":1792,"width":1280,"height":720,"seconds":4}]',
)
const DIGITS: Readonly<Record<Alphabet, string>> = {
  letters: 'abcdefghijklmnopqrstuvwxyz234567',
  digits: '0123456789',
}

/** A short text as a name that only a simulator makes: packed, behind a code over it (HMAC, RFC 2104). */
export function seal(text: string, alphabet: Alphabet): string {
  const packed = deflateRawSync(text, { level: 9, dictionary: COMMON })
  return spelled(Buffer.concat([code(packed), packed]), alphabet)
}

/** The text that {@link seal} made this name of; nothing where it did not. Never throws. */
export function unseal(name: string, alphabet: Alphabet): string | undefined {
  if (name.length > MAX_TOKEN_CHARS) return undefined
  const bytes = bytesOf(name, alphabet)
  if (bytes === undefined || bytes.length <= CODE_BYTES) return undefined
  const packed = bytes.subarray(CODE_BYTES)
  if (!timingSafeEqual(bytes.subarray(0, CODE_BYTES), code(packed))) return undefined
  // One name for one task: other spellings of the same bytes are unknown.
  if (spelled(bytes, alphabet) !== name) return undefined
  return inflateRawSync(packed, { maxOutputLength: MAX_TOKEN_BYTES, dictionary: COMMON }).toString()
}

function code(packed: Buffer): Buffer {
  return createHmac('sha256', SECRET).update(packed).digest().subarray(0, CODE_BYTES)
}

/** The bytes, behind a digit that keeps their leading zeros, as one number of either alphabet's digits. */
function spelled(bytes: Buffer, alphabet: Alphabet): string {
  const number = BigInt(`0x1${bytes.toString('hex')}`)
  return number
    .toString(DIGITS[alphabet].length)
    .replace(/./g, digit => DIGITS[alphabet][Number.parseInt(digit, 32)] ?? '')
}

function bytesOf(name: string, alphabet: Alphabet): Buffer | undefined {
  const digits = [...name].map(digit => DIGITS[alphabet].indexOf(digit))
  if (digits.includes(-1)) return undefined
  const radix = BigInt(DIGITS[alphabet].length)
  const hex = digits.reduce((number, digit) => number * radix + BigInt(digit), 0n).toString(16)
  return hex.startsWith('1') && hex.length % 2 === 1 ? Buffer.from(hex.slice(1), 'hex') : undefined
}
