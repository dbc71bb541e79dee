import { GatewayError } from '../../core/errors.js'
import type { Translator } from '../../translate/translator.js'
import { EVENTSTREAM_TYPE } from '../../wire/eventstream.js'
import { framesOf } from '../relay/frames.js'
import { framingOf } from '../relay/framing.js'
import type { Relay, Source } from '../relay/relay.js'
import type { UpstreamHeaders } from '../response-headers.js'
import { ClientStream } from './client-stream.js'
import { TranslatedDocument } from './document.js'
import { translatedHeaders } from './headers.js'
import { TranslatedRefusal } from './refusal.js'
import { TranslatedStream } from './stream.js'

/** Chooses how an answer is translated, by its status and form; undefined if it is refused at once. */
export function openTranslation(
  attempt: Source,
  translator: Translator,
  status: number,
  headers: UpstreamHeaders,
): Relay | undefined {
  if (status >= 300) return new TranslatedRefusal(attempt, translator, status, headers)
  const encoding = headers['content-encoding']
  if (encoding !== undefined && encoding !== 'identity') {
    attempt.failed('bad_response', malformed('It sent an encoding that was not requested.'))
    return undefined
  }
  const { call, route } = attempt
  const flat = translatedHeaders(headers, attempt.exchange)
  const { text } = translator
  if (text === undefined) return new TranslatedDocument(attempt, translator, flat, undefined)
  const out = call.stream ? new ClientStream(attempt, text, framingOf(call, route.framing), flat) : undefined
  const type = typeof headers['content-type'] === 'string' ? headers['content-type'].toLowerCase() : ''
  return isStream(type) || (call.stream && text.jsonStreams && type.includes('json'))
    ? new TranslatedStream(attempt, text, framesOf(type, route.limits, attempt.exchange.response), out, flat)
    : new TranslatedDocument(attempt, translator, flat, out)
}

function isStream(type: string): boolean {
  if (type.startsWith(EVENTSTREAM_TYPE)) return true
  return type.startsWith('text/event-stream') || type.includes('ndjson') || type.includes('jsonl')
}

function malformed(what: string): GatewayError {
  return new GatewayError('bad_upstream_response', `The upstream sent a malformed answer. ${what}`, { phase: 'head' })
}
