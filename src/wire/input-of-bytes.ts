import { BACKSLASH, COLON, QUOTE, SPACE } from '../core/ascii.js'
import {
  contentFrom,
  type InputSize,
  isLink,
  isMedia,
  LINK_CHARS,
  MAX_HEAD_CHARS,
  MIN_MEDIA_BYTES,
  sizeOf,
} from './input-size.js'

/** The size of a request that is JSON. `mayLink`: false if no string in it begins like a link ({@link beginsLikeLink}). */
export function inputOfBytes(bytes: Buffer, mayLink = true): InputSize {
  const { length } = bytes
  const links = mayLink ? linksIn(bytes) : 0
  if (length < MIN_MEDIA_BYTES) return sizeOf(length, { bytes: 0, count: 0, links })
  let [media, count] = [0, 0]
  for (let start = bytes.indexOf(QUOTE); start >= 0; ) {
    // No string between here and the last quote within reach is long: few searches find all that are.
    const last = bytes.lastIndexOf(QUOTE, start + MIN_MEDIA_BYTES)
    if (last > start) {
      start = last
      continue
    }
    const end = bytes.indexOf(QUOTE, start + MIN_MEDIA_BYTES)
    if (end < 0) break
    if (isMediaAt(bytes, start + 1, end)) {
      media += end - start
      count++
    }
    start = end
  }
  return sizeOf(length, { bytes: media, count, links })
}

/** How values begin, and names of members, that may say that media are small or somewhere else. */
const BEGINS = ['http', 'file', 'data']
const BEGIN_CHARS = 4
const LINK_BEGINS = BEGINS.map(begin => Buffer.from(`"${begin}`))
const LINK_BEGIN = new RegExp(`"(?:${BEGINS.join('|')})`)
/** By byte: 1 if one of them begins with it. */
const FIRST_BYTES = new Uint8Array(256)
for (const begin of BEGINS) FIRST_BYTES[begin.charCodeAt(0)] = 1

const URL_BEGIN = /^(?:https?|data):/

/** Whether a string in a JSON text begins like a link: on a short text this costs less than searches of its bytes. */
export function mayHaveLink(text: string): boolean {
  return LINK_BEGIN.test(text)
}

/** Whether a string whose characters begin at `at` may be a link, or the name of a member that is one: also where the bytes end too soon. */
export function beginsLikeLink(bytes: Buffer, at: number): boolean {
  const first = bytes[at]
  if (first !== undefined && FIRST_BYTES[first] !== 1) return false
  if (at + BEGIN_CHARS > bytes.length) return true
  return LINK_BEGINS.some(begin => bytes.compare(begin, 1, 1 + BEGIN_CHARS, at, at + BEGIN_CHARS) === 0)
}

function linksIn(bytes: Buffer): number {
  let links = 0
  for (const begin of LINK_BEGINS)
    for (let at = bytes.indexOf(begin); at >= 0; at = bytes.indexOf(begin, at + 1)) if (isLinkAt(bytes, at)) links++
  return links
}

/** Whether the quote at `start` begins a link, or the name of a member that is one. */
function isLinkAt(bytes: Buffer, start: number): boolean {
  const begin = beginAt(bytes, start)
  const end = bytes.indexOf(QUOTE, start + 1)
  if (end - start > MIN_MEDIA_BYTES) return false
  if (URL_BEGIN.test(begin)) return isLink(memberBefore(bytes, start), begin)
  const colon = firstFrom(bytes, end + 1)
  const value = firstFrom(bytes, colon + 1)
  if (bytes[colon] !== COLON || bytes[value] !== QUOTE) return false
  // A URL is counted by its own beginning, and what is long as media.
  if (URL_BEGIN.test(beginAt(bytes, value)) || bytes.indexOf(QUOTE, value + 1) - value > MIN_MEDIA_BYTES) return false
  return isLink(bytes.toString('latin1', start + 1, end), '')
}

function beginAt(bytes: Buffer, start: number): string {
  return bytes.toString('latin1', start + 1, start + 1 + LINK_CHARS)
}

/** The first byte from `at` on that is not white space. */
function firstFrom(bytes: Buffer, at: number): number {
  let first = at
  while ((bytes[first] ?? COLON) <= SPACE) first++
  return first
}

/** Whether a long string is media. The name of its member is before it. */
function isMediaAt(bytes: Buffer, start: number, end: number): boolean {
  const inside = bytes.subarray(start, end)
  const begin = inside.toString('latin1', 0, MAX_HEAD_CHARS)
  if (inside.includes(SPACE, contentFrom(begin)) || inside.includes(BACKSLASH)) return false
  return isMedia(memberBefore(bytes, start - 1), begin, inside.length, at => String.fromCharCode(inside[at] ?? 0))
}

/** The name of the member whose value begins with the quote at `start`, as it is written; undefined in a list. */
function memberBefore(bytes: Buffer, start: number): string | undefined {
  const colon = lastBefore(bytes, start)
  if (bytes[colon] !== COLON) return undefined
  const close = lastBefore(bytes, colon)
  return bytes.toString('latin1', bytes.lastIndexOf(QUOTE, close - 1) + 1, close)
}

/** The last byte before `at` that is not white space. */
function lastBefore(bytes: Buffer, at: number): number {
  let before = at - 1
  while (before >= 0 && (bytes[before] ?? 0) <= SPACE) before--
  return before
}
