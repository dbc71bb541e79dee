import type { IncomingHttpHeaders } from 'node:http'

/** The head of a request that the fast path serves, and how its bytes are framed. */
export interface RequestHead {
  readonly method: string
  readonly target: string
  readonly headers: IncomingHttpHeaders
  /** A flat name, value list, as it was received. */
  readonly rawHeaders: readonly string[]
  /** Bytes of the head, its blank line included. */
  readonly size: number
  /** Bytes of the body that follows. */
  readonly length: number
  /** Whether another request may follow on the connection. */
  readonly keepsAlive: boolean
}

/** Heads of this size or more are for `node:http`. */
const MAX_HEAD_BYTES = 16 * 1024

const METHOD = '(?:GET|HEAD|POST|PUT|DELETE|PATCH|OPTIONS)'
/** A path and a query of visible ASCII, without a fragment. */
const TARGET = '/[!-"$-~]*'
const NAME = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]+"
const VALUE = '[\\t\\x20-\\x7e\\x80-\\xff]*'
const START = `${METHOD} ${TARGET} HTTP/1\\.1\\r\\n`

/**
 * The whole language of heads that the fast path takes: methods with a meaning here, a path, HTTP/1.1, and header lines
 * without folds, controls, and blanks around their names. It is a part of what RFC 9112 §3 and §5 allow, the part that
 * every parser of HTTP/1.1 reads alike. At each byte only one of its parts can match, so it takes linear time.
 */
const HEAD = new RegExp(`^${START}(?:${NAME}:${VALUE}\\r\\n)+\\r\\n$`)

/** What may yet become such a head: it ends in the method, the target, the version, or a header line. */
const BEGINNINGS = [
  /^[A-Z]{0,7}$/,
  new RegExp(`^${METHOD} (?:${TARGET})?$`),
  new RegExp(`^${METHOD} ${TARGET} (?:H|HT|HTT|HTTP|HTTP/|HTTP/1|HTTP/1\\.|HTTP/1\\.1\\r?)?$`),
  new RegExp(`^${START}(?:${NAME}:${VALUE}\\r\\n)*(?:\\r|${NAME}(?::${VALUE}\\r?)?)?$`),
]

/** Host and port, without what only exotic hosts contain (RFC 9110 §7.2). */
const HOST = /^[A-Za-z0-9._:[\]-]+$/
const LENGTH = /^(?:0|[1-9][0-9]{0,14})$/

/** What is done with a header of some name: `node:http` deals with requests that have an unusual one. */
interface HeaderName {
  readonly lower: string
  readonly repeated: 'unusual' | 'first' | 'list' | 'cookies'
  readonly isUnusual: boolean
}

/** By these a message is framed in another way, or the connection becomes another one. */
const UNUSUAL = /^(?:transfer-encoding|upgrade|http2-settings|expect|proxy-connection|trailer|set-cookie|__proto__)$/
/** These make a message ambiguous if they are repeated. Parsers disagree about more than one blank around their values. */
const SINGLE = /^(?:host|content-length|connection)$/
/** Of these `node:http` keeps the first one; it joins others. */
const FIRST =
  /^(?:age|authorization|content-type|etag|expires|from|if-modified-since|if-unmodified-since|last-modified|location|max-forwards|proxy-authorization|referer|retry-after|server|user-agent)$/

/** By the name as it was written. Most requests have the same ones. */
const names = new Map<string, HeaderName>()
const MAX_NAMES = 512
const MAX_NAME_CHARS = 64

function headerName(name: string): HeaderName {
  const known = names.get(name)
  if (known !== undefined) return known
  const lower = name.toLowerCase()
  const repeated = SINGLE.test(lower)
    ? 'unusual'
    : FIRST.test(lower)
      ? 'first'
      : lower === 'cookie'
        ? 'cookies'
        : 'list'
  const made: HeaderName = { lower, repeated, isUnusual: UNUSUAL.test(lower) }
  // A copy: the name itself is a part of the whole head, which would stay in memory with it.
  if (names.size < MAX_NAMES && name.length <= MAX_NAME_CHARS) names.set(Buffer.from(name).toString(), made)
  return made
}

/**
 * Reads the head at the beginning of `bytes`. `more`: it is incomplete. `unusual`: the fast path does not support it, nor
 * heads of `maxBytes` or more.
 */
export function readHead(bytes: Buffer, maxBytes: number): RequestHead | 'more' | 'unusual' {
  const most = Math.min(maxBytes, MAX_HEAD_BYTES)
  const end = bytes.indexOf('\r\n\r\n', 0, 'latin1')
  if (end < 0) return bytes.length < most && mayBecomeHead(bytes) ? 'more' : 'unusual'
  const size = end + 4
  if (size >= most) return 'unusual'
  const text = bytes.toString('latin1', 0, size)
  return (HEAD.test(text) && parse(text)) || 'unusual'
}

function mayBecomeHead(bytes: Buffer): boolean {
  const text = bytes.toString('latin1')
  return BEGINNINGS.some(beginning => beginning.test(text))
}

/** Takes a head of that language apart; undefined if its headers are unusual. */
function parse(text: string): RequestHead | undefined {
  const rawHeaders: string[] = []
  const headers: IncomingHttpHeaders = {}
  const start = text.indexOf('\r\n')
  for (let at = start + 2, end = at; at < text.length - 2; at = end + 2) {
    end = text.indexOf('\r\n', at)
    const colon = text.indexOf(':', at)
    const name = text.slice(at, colon)
    const value = withoutBlanks(text, colon + 1, end)
    rawHeaders.push(name, value)
    const { lower, repeated, isUnusual } = headerName(name)
    if (isUnusual || (repeated === 'unusual' && end - colon > value.length + 2)) return undefined
    const first = headers[lower]
    if (typeof first !== 'string') headers[lower] = value
    else if (repeated === 'unusual') return undefined
    else if (repeated !== 'first') headers[lower] = `${first}${repeated === 'cookies' ? '; ' : ', '}${value}`
  }
  const { host = '', connection = '', 'content-length': length = '0' } = headers
  const wish = connection.toLowerCase()
  if (!HOST.test(host) || !LENGTH.test(length)) return undefined
  if (wish !== '' && wish !== 'keep-alive' && wish !== 'close') return undefined
  const space = text.indexOf(' ')
  const target = text.slice(space + 1, start - ' HTTP/1.1'.length)
  const keepsAlive = wish !== 'close'
  const size = text.length
  return { method: text.slice(0, space), target, headers, rawHeaders, size, length: Number(length), keepsAlive }
}

/** The part of a text from `start` to `end`, without spaces and tabs around it. */
function withoutBlanks(text: string, start: number, end: number): string {
  let [from, to] = [start, end]
  while (from < to && isBlank(text.charCodeAt(from))) from++
  while (to > from && isBlank(text.charCodeAt(to - 1))) to--
  return text.slice(from, to)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}
