import { TransportFault } from './handler.js'

/** RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** Visible ASCII and more, without blanks: a request line has exactly two of those. */
const TARGET = /^\/[\x21-\x7e\x80-\xff]*$/
/** RFC 9110 §5.5: no CR, LF, NUL or other control character, for each could begin another header or request. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
/** These are the connection's own, and are refused. */
const OWN = new Set(['transfer-encoding', 'keep-alive', 'upgrade', 'expect'])
/** Methods whose requests have a body, even if it is empty (RFC 9110 §8.6). */
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** Names that were found to be tokens, in lower case. */
const knownNames = new Map<string, string>()
const MAX_KNOWN_NAMES = 256

interface HeadParts {
  readonly method: string
  readonly path: string
  readonly headers: readonly string[]
  /** Of the body; undefined where there is none. */
  readonly length: number | undefined
  /** Default value of `host`. */
  readonly host: string
}

/** The head of a request with its blank line, in Latin-1. Throws a {@link TransportFault} for what could not be sent as one head. */
export function requestHead({ method, path, headers, length, host }: HeadParts): string {
  if (!TOKEN.test(method) || method === 'CONNECT') throw invalid('method')
  if (!TARGET.test(path)) throw invalid('target')
  let given: string | undefined
  let lines = ''
  for (let i = 0; i < headers.length; i += 2) {
    const name = headers[i] ?? ''
    const value = headers[i + 1]
    const lower = knownNames.get(name) ?? lowerCase(name)
    if (value === undefined || !VALUE.test(value)) throw invalid(`value of ${lower}`)
    if (lower === 'host') {
      if (given !== undefined) throw invalid('second host')
      given = value
    } else if (lower === 'content-length') {
      if (value !== String(length ?? 0)) throw invalid('content-length')
    } else if (OWN.has(lower)) throw invalid(lower)
    else if (lower !== 'connection') lines += `${name}: ${value}\r\n`
  }
  const size = length ?? (WITH_BODY.has(method) ? 0 : undefined)
  const last = size === undefined ? '\r\n' : `content-length: ${size}\r\n\r\n`
  return `${method} ${path} HTTP/1.1\r\nhost: ${given ?? host}\r\nconnection: keep-alive\r\n${lines}${last}`
}

function lowerCase(name: string): string {
  if (!TOKEN.test(name)) throw invalid('name of a header')
  const lower = name.toLowerCase()
  if (knownNames.size < MAX_KNOWN_NAMES) knownNames.set(name, lower)
  return lower
}

function invalid(what: string): TransportFault {
  return new TransportFault('REQUEST_INVALID', `The request cannot be sent: its ${what} is not valid.`)
}
