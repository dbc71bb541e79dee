import { GatewayError } from '../../core/errors.js'
import type { Framing } from '../../core/route-settings.js'
import { EVENTSTREAM_TYPE } from '../../wire/eventstream.js'
import { chainOf } from '../chain.js'
import { hasOwner } from '../drain.js'
import { lengthOf, responseHeaders, single, type UpstreamHeaders } from '../response-headers.js'
import { EventRelay } from './events.js'
import { FormattedRelay } from './formatted.js'
import { framesOf } from './frames.js'
import { framingOf } from './framing.js'
import { JsonRelay } from './json.js'
import { RawRelay } from './raw.js'
import { ReframeRelay } from './reframe.js'
import { RefusalRelay } from './refusal.js'
import type { Relay, Source } from './relay.js'
import { UnwrappedRelay } from './unwrapped.js'

/** Chooses the relay for an answer by its status and form; undefined if the answer is refused at once. */
export function openRelay(attempt: Source, status: number, headers: UpstreamHeaders): Relay | undefined {
  if (headers['transfer-encoding'] !== undefined && headers['content-length'] !== undefined) {
    attempt.failed('bad_response', malformed('The length of its answer is ambiguous.'))
    return undefined
  }
  if (status >= 300) return new RefusalRelay(attempt, status, headers)
  const flat = responseHeaders(headers, attempt.exchange)
  const chain = chainOf(attempt.call)
  const encoding = single(headers['content-encoding'])
  if (encoding !== undefined && encoding !== 'identity') {
    // Stages must read what they store, and the gateway does not decode.
    const isRead = chain.reads.some(reads => reads(attempt.call))
    if (!accepts(attempt, encoding) || isRead || attempt.exchange.answers !== undefined) {
      attempt.failed('bad_response', malformed('It sent an encoding that was not requested.'))
      return undefined
    }
    flat.push('content-encoding', encoding)
    return new RawRelay(attempt, status, flat, lengthOf(headers))
  }
  const type = single(headers['content-type'])?.toLowerCase() ?? ''
  if (!attempt.isDraining || hasOwner(attempt.route)) {
    for (const relay of chain.relay) {
      const own = relay(attempt, status, flat, headers)
      if (own !== undefined) return own
    }
    for (const observe of chain.observe) {
      attempt.call.taps.addForAttempt(observe(attempt, type.startsWith('text/event-stream')))
    }
  }
  const framing = framingOf(attempt.call, attempt.route.framing)
  if (type.startsWith('text/event-stream')) {
    if (framing === 'sse' || framing === 'sse-crlf') return new EventRelay(attempt, status, flat)
    return new ReframeRelay(
      attempt,
      status,
      flat,
      framesOf(type, attempt.route.limits, attempt.exchange.response),
      framing,
    )
  }
  if (type.startsWith(EVENTSTREAM_TYPE)) {
    return binaryRelay(attempt, status, flat, type, framing)
  }
  if (isJsonStream(attempt, type)) {
    return new ReframeRelay(
      attempt,
      status,
      flat,
      framesOf(type, attempt.route.limits, attempt.exchange.response),
      framing,
    )
  }
  return wholeRelay(attempt, status, flat, headers)
}

/** Of an answer that is not a stream. */
function wholeRelay(attempt: Source, status: number, flat: string[], headers: UpstreamHeaders): Relay | undefined {
  const type = single(headers['content-type'])?.toLowerCase() ?? ''
  const { answers } = attempt.exchange
  const isChanged = answers !== undefined && status !== 204 && (answers.bytes !== undefined || !type.includes('json'))
  if (!isChanged && status !== 204 && isJson(attempt, type)) {
    return new JsonRelay(attempt, status, flat, lengthOf(headers))
  }
  if ((isChanged || attempt.route.protocol?.binary) && type.startsWith('text/html')) {
    attempt.failed('bad_response', malformed('It is an HTML page.'))
    return undefined
  }
  if (isChanged) return new FormattedRelay(attempt, status, flat, answers)
  return new RawRelay(attempt, status, flat, lengthOf(headers), type.startsWith('text/'))
}

/** Of a stream of binary messages: as such a stream again, or as the event stream that they hold. */
function binaryRelay(
  attempt: Source,
  status: number,
  headers: string[],
  type: string,
  framing: Framing,
): Relay | undefined {
  if (!attempt.call.stream) {
    attempt.failed('bad_response', malformed('It is a stream, and none was requested.'))
    return undefined
  }
  const { limits } = attempt.route
  // An event stream is changed as such.
  if (framing === 'sse' || framing === 'sse-crlf')
    return new UnwrappedRelay(attempt, status, headers, framesOf(type, limits), framing)
  return new ReframeRelay(attempt, status, headers, framesOf(type, limits, attempt.exchange.response), framing)
}

/** A stream of JSON documents on a route whose streams can have several framings. */
function isJsonStream({ call, route }: Source, type: string): boolean {
  return call.stream && route.framing.parameter !== undefined && type.includes('json')
}

/** Some protocols always answer in JSON, even if an upstream sends another media type. */
function isJson({ route }: Source, type: string): boolean {
  if (type.includes('ndjson')) return false
  return type.includes('json') || route.protocol?.binary === false
}

function malformed(what: string): GatewayError {
  return new GatewayError('bad_upstream_response', `The upstream sent a malformed answer. ${what}`, { phase: 'head' })
}

/** One coding that the client's own header names; combined ones never pass. */
function accepts(attempt: Source, encoding: string): boolean {
  const offered = attempt.call.request.headers['accept-encoding']
  if (typeof offered !== 'string' || encoding.includes(',')) return false
  return offered.split(',').some(one => one.split(';', 1)[0]?.trim().toLowerCase() === encoding.toLowerCase())
}
