import { STATUS_CODES, validateHeaderName, validateHeaderValue } from 'node:http'
import { flat, HeaderNames } from '../header-lines.js'

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

/** The date header's value, and the second of the epoch in which it holds. */
let date = { second: 0, text: '' }

function dateNow(): typeof date {
  const second = Math.floor(Date.now() / 1000)
  if (second !== date.second) date = { second, text: new Date(second * 1000).toUTCString() }
  return date
}

/** The lines behind the given headers that most heads of a second have. */
let usual = { date, keepAliveTimeout: 0, lines: '' }

function usualLines(keepAliveTimeout: number): string {
  const now = dateNow()
  if (usual.date !== now || usual.keepAliveTimeout !== keepAliveTimeout)
    usual = { date: now, keepAliveTimeout, lines: flat(`Date: ${now.text}\r\n${keepAliveLines(keepAliveTimeout)}`) }
  return usual.lines
}

function keepAliveLines(keepAliveTimeout: number, isGiven = false): string {
  const seconds = Math.floor(keepAliveTimeout / 1000)
  return `Connection: keep-alive\r\n${keepAliveTimeout > 0 && !isGiven ? `Keep-Alive: timeout=${seconds}\r\n` : ''}`
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

/**
 * Writes a head as `node:http` does: the given headers, then date, connection and framing if none are given. `headers` is a
 * flat name, value list. Throws for names and values that a client could read as something else (response splitting).
 */
export function responseHead(status: number, headers: readonly string[], options: ResponseOptions): ResponseHead {
  let text = statusLine(status)
  const given: Given = {}
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const [name = '', value = ''] = [headers[index], headers[index + 1]]
    const known = names.of(name) ?? refuseName(name)
    text += known.line(value) ?? refuseValue(name, value)
    if (known.isUsual) given[known.lower as keyof Given] = value
  }
  const isEmpty = status === 204 || status === 304 || status < 200
  const isChunked = given['content-length'] === undefined && given['transfer-encoding'] === undefined
  const { connection } = given
  const keepsAlive = connection === undefined ? options.keepsAlive : !CLOSE.test(connection)
  const isKeptGiven = given['keep-alive'] !== undefined
  if (given.date === undefined && connection === undefined && keepsAlive && !isKeptGiven) {
    text += usualLines(options.keepAliveTimeout)
  } else {
    if (given.date === undefined) text += `Date: ${dateNow().text}\r\n`
    if (connection === undefined)
      text += keepsAlive ? keepAliveLines(options.keepAliveTimeout, isKeptGiven) : 'Connection: close\r\n'
  }
  const hasBody = !isEmpty && !options.isHead
  if (hasBody && isChunked) text += 'Transfer-Encoding: chunked\r\n'
  return { text: `${text}\r\n`, hasBody, isChunked: hasBody && isChunked, isLast: !keepsAlive }
}

const names = new HeaderNames()
const statusLines: string[] = []

/** `status`: three digits. */
function statusLine(status: number): string {
  statusLines[status] ??= flat(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'unknown'}\r\n`)
  return statusLines[status]
}

/** Throws as `node:http` does. */
function refuseName(name: string): never {
  validateHeaderName(name)
  throw new TypeError('a name that cannot be sent')
}

function refuseValue(name: string, value: string): never {
  validateHeaderValue(name, value)
  throw new TypeError('a value that cannot be sent')
}
