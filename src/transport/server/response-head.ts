import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'

/** The head of an answer, and how its body is framed. */
export interface ResponseHead {
  /** All of it, one character a byte. */
  readonly text: string
  /** False if the answer has no body, even if one is written: to HEAD, 204 and 304 (RFC 9110 §6.4.1). */
  readonly hasBody: boolean
  readonly isChunked: boolean
  /** Whether the connection ends with the answer. */
  readonly isLast: boolean
}

export interface ResponseOptions {
  readonly isHead: boolean
  /** Whether the client can use the connection again. */
  readonly keepsAlive: boolean
  /** The server's time-out for idle connections, as sent to clients, milliseconds. */
  readonly keepAliveTimeout: number
}

/** Seconds of the epoch, and the date header's value then. */
let second = 0
let date = ''

function dateNow(): string {
  const now = Math.floor(Date.now() / 1000)
  if (now !== second) {
    second = now
    date = new Date(now * 1000).toUTCString()
  }
  return date
}

const CLOSE = /(?:^|\W)close(?:$|\W)/i

/** The caller's headers, if given, that determine the framing or whether the connection is kept. */
interface Given {
  connection?: string
  'content-length'?: string
  'transfer-encoding'?: string
  date?: string
  'keep-alive'?: string
}
const GIVEN = /^(?:connection|content-length|transfer-encoding|date|keep-alive)$/i

/**
 * Writes a head as `node:http` does: the given headers, then date, connection and framing if none are given. `headers` is a
 * flat name, value list. Throws for names and values that a client could read as something else (response splitting).
 */
export function responseHead(status: number, headers: readonly string[], options: ResponseOptions): ResponseHead {
  let text = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`
  const given: Given = {}
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const [name = '', value = ''] = [headers[index], headers[index + 1]]
    const { begin, framing } = names.get(name) ?? nameOf(name)
    if (!VALUE.test(value)) validateHeaderValue(name, value)
    text += begin + value + END_OF_LINE
    if (framing !== undefined) given[framing] = value
  }
  const isEmpty = status === 204 || status === 304 || status < 200
  const isChunked = given['content-length'] === undefined && given['transfer-encoding'] === undefined
  const { connection } = given
  const keepsAlive = connection === undefined ? options.keepsAlive : !CLOSE.test(connection)
  if (given.date === undefined) text += `Date: ${dateNow()}\r\n`
  if (connection === undefined) {
    text += keepsAlive ? 'Connection: keep-alive\r\n' : 'Connection: close\r\n'
    const seconds = Math.floor(options.keepAliveTimeout / 1000)
    if (keepsAlive && options.keepAliveTimeout > 0 && given['keep-alive'] === undefined)
      text += `Keep-Alive: timeout=${seconds}\r\n`
  }
  const hasBody = !isEmpty && !options.isHead
  if (hasBody && isChunked) text += 'Transfer-Encoding: chunked\r\n'
  return { text: `${text}\r\n`, hasBody, isChunked: hasBody && isChunked, isLast: !keepsAlive }
}

/** What is known of the name of a header that is a token. */
interface Name {
  /** The line up to the value. */
  readonly begin: string
  readonly framing: keyof Given | undefined
}

const names = new Map<string, Name>()
const MAX_NAMES = 512
const END_OF_LINE = '\r\n'

function nameOf(name: string): Name {
  validateHeaderName(name)
  const framing = GIVEN.test(name) ? (name.toLowerCase() as keyof Given) : undefined
  const made = { begin: `${name}: `, framing }
  if (names.size < MAX_NAMES) names.set(name, made)
  return made
}

/** Field values are visible ASCII, spaces, tabs and bytes over 0x7f (RFC 9110 §5.5). */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
