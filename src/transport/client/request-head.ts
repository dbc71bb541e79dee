import { HeaderNames, TOKEN } from '../header-lines.js'
import { TransportFault } from './handler.js'

/** Visible ASCII and more, without blanks: a request line has exactly two of those. */
const TARGET = /^\/[\x21-\x7e\x80-\xff]*$/
/** These are the connection's own, and are refused. */
const OWN = new Set(['transfer-encoding', 'keep-alive', 'upgrade', 'expect'])
/** Methods whose requests have a body, even if it is empty (RFC 9110 §8.6). */
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

const names = new HeaderNames()

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
    const name = names.of(headers[i] ?? '')
    if (name === undefined) throw invalid('name of a header')
    const { lower } = name
    const value = headers[i + 1]
    const line = value === undefined ? undefined : name.line(value)
    if (line === undefined) throw invalid(`value of ${lower}`)
    if (lower === 'host') {
      if (given !== undefined) throw invalid('second host')
      given = value
    } else if (lower === 'content-length') {
      if (value !== String(length ?? 0)) throw invalid('content-length')
    } else if (OWN.has(lower)) throw invalid(lower)
    else if (lower !== 'connection') lines += line
  }
  const size = length ?? (WITH_BODY.has(method) ? 0 : undefined)
  const last = size === undefined ? '\r\n' : `content-length: ${size}\r\n\r\n`
  return `${method} ${path} HTTP/1.1\r\nhost: ${given ?? host}\r\nconnection: keep-alive\r\n${lines}${last}`
}

function invalid(what: string): TransportFault {
  return new TransportFault('REQUEST_INVALID', `The request cannot be sent: its ${what} is not valid.`)
}
