import { GatewayError } from '../core/errors.js'
import type { Limits } from '../core/limits.js'
import type { HttpRequest } from '../transport/exchange.js'

/**
 * Headers that must not be repeated. Node keeps the first one or joins them; a server behind the gateway might use
 * the other one. Host: RFC 9112 §3.2; Content-Length and Transfer-Encoding: RFC 9112 §6.3.
 */
const SINGLE = ['host', 'content-length', 'transfer-encoding', 'content-type', 'expect'] as const
/** The same by length: no two have the same one. */
const SINGLE_BY_LENGTH: (string | undefined)[] = []
for (const name of SINGLE) SINGLE_BY_LENGTH[name.length] = name

/**
 * Rejects request heads that two servers could read differently, or that are over a limit. The connection is not used
 * again after that.
 */
export function checkHead(request: HttpRequest, limits: Limits): void {
  const raw = request.rawHeaders
  if (raw.length > limits.header_count * 2) {
    throw new GatewayError('headers_too_large', `The request has more than ${limits.header_count} headers.`, {
      limit: 'header_count',
    })
  }
  const { target } = request
  if (target.length > limits.url) {
    throw new GatewayError('url_too_long', `The request target is longer than ${limits.url} bytes.`, { limit: 'url' })
  }
  // Absolute-form and authority-form targets are for proxies, and the gateway is not one (RFC 9112 §3.2.2).
  if (target.charCodeAt(0) !== 0x2f) throw new GatewayError('bad_request', 'The request target must be a path.')
  checkLines(raw, limits.header_bytes)
  // llhttp also reads 0.9 and 2.0, whose framing differs (RFC 9112 §2.3).
  if (request.httpVersion !== '1.1' && request.httpVersion !== '1.0') {
    throw new GatewayError('bad_request', 'The request must be of HTTP/1.1 or HTTP/1.0.')
  }
  // RFC 9112 §3.2
  if (request.headers.host === undefined && request.httpVersion === '1.1') {
    throw new GatewayError('bad_request', 'The header host is missing.')
  }
  const coding = request.headers['transfer-encoding']
  if (coding === undefined) return
  if (coding.toLowerCase() !== 'chunked' || request.headers['content-length'] !== undefined) {
    throw new GatewayError('bad_request', 'The length of the request body is ambiguous.')
  }
}

/** Bytes of a header line beside name and value: colon, space and line end. */
const LINE_OVERHEAD_BYTES = 4

/** Checks the headers' own bound: Node's is for request line and headers together, and grows with `limits.url`. */
function checkLines(raw: readonly string[], maxBytes: number): void {
  /** A bit for each length. */
  let seen = 0
  let size = 0
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index] ?? ''
    size += name.length + (raw[index + 1]?.length ?? 0) + LINE_OVERHEAD_BYTES
    if (size > maxBytes) {
      throw new GatewayError('headers_too_large', `The request headers are larger than ${maxBytes} bytes.`, {
        limit: 'header_bytes',
      })
    }
    const single = SINGLE_BY_LENGTH[name.length]
    if (single === undefined || (name !== single && name.toLowerCase() !== single)) continue
    const bit = 1 << name.length
    if ((seen & bit) !== 0) throw new GatewayError('bad_request', `The header ${single} must occur only once.`)
    seen |= bit
  }
}

const MAX_ID_CHARS = 128

/** The client's own request id if it is safe in a header and a log line; else undefined. */
export function clientRequestId(request: HttpRequest): string | undefined {
  const given = request.headers['x-request-id']
  if (typeof given !== 'string' || given.length === 0 || given.length > MAX_ID_CHARS) return undefined
  return /^[\w.:/+=-]+$/.test(given) ? given : undefined
}

/** The raw path of a target, still encoded. */
export function pathOf(target: string): string {
  const mark = target.indexOf('?')
  return mark < 0 ? target : target.slice(0, mark)
}

/** Its query behind the path, parsed only where there is one. */
export function queryOf(target: string, path: string): URLSearchParams | undefined {
  return target.length === path.length ? undefined : new URLSearchParams(target.slice(path.length + 1))
}
