import { isObject, type Json, type JsonObject, parseJson } from '../../core/json.js'
import { StartError } from '../problems.js'
import {
  comparable,
  decoded,
  type PlayedExchange,
  type PlayedPiece,
  type PlayedSession,
  placeOf,
  playedHeaders,
  queryOf,
  SOCKET_METHOD,
} from './exchange.js'
import { cassetteSession, harSession, ownSession } from './frames.js'

/** Status of a handshake that has opened a WebSocket. */
const SWITCHING = 101

/**
 * The exchanges of a document: ours; VCR cassettes of several languages (`interactions`, `http_interactions`); HAR
 * (`log.entries`). Anything else is ignored.
 */
export function exchangesOf(document: Json, file: string): readonly PlayedExchange[] {
  if (!isObject(document)) return []
  const { log, interactions, http_interactions, request, response } = document
  if (isObject(log) && Array.isArray(log.entries)) return log.entries.flatMap(entry => harExchange(entry, file))
  const list = http_interactions ?? interactions
  if (Array.isArray(list)) {
    const session = cassetteSession(list)
    const exchanges = list.flatMap(entry => exchange(entry, file))
    return session === undefined ? exchanges : [...exchanges, { ...sessionExchange('/', session, file), ...ANYWHERE }]
  }
  return isObject(request) && isObject(response) ? exchange(document, file) : []
}

/** Of ours, and of VCR: they differ in a few names. */
function exchange(entry: Json | undefined, file: string): readonly PlayedExchange[] {
  if (!isObject(entry)) return []
  const { request, response } = entry
  if (!isObject(request) || !isObject(response)) return []
  const url = request.url ?? request.uri
  const status = statusOf(response)
  if (typeof request.method !== 'string' || typeof url !== 'string' || status === undefined) return []
  const type = headerOf(request.headers, 'content-type')
  const answered = playedHeaders(pairsOf(response.headers))
  const headAt = numberOf(response.after_ms)
  const isStream = /[?&]alt=sse/.test(url)
  const place = placeOf(request.method, url)
  const { frames } = entry
  if (status === SWITCHING && !Array.isArray(frames)) return withoutFrames(place.method, file)
  return [
    {
      file,
      ...place,
      body: place.method === SOCKET_METHOD ? queryOf(url) : comparable(bytesOf(request, false).toString('utf8'), type),
      status,
      headers: answered,
      headAt,
      pieces: piecesOf(response, headAt, isStream),
      ...(Array.isArray(frames) ? { session: ownSession(frames, entry.end, file) } : {}),
    },
  ]
}

/** Of sessions whose handshake was not recorded. */
const ANYWHERE = { path: '', body: undefined }

/** A session whose recorder kept nothing of the handshake but its address. */
function sessionExchange(url: string, session: PlayedSession, file: string): PlayedExchange {
  const place = placeOf(SOCKET_METHOD, url)
  return { file, ...place, body: queryOf(url), status: 101, headers: [], headAt: 0, pieces: [], session }
}

/** Other programs keep handshakes without the session. */
function withoutFrames(method: string, file: string): readonly [] {
  if (method === SOCKET_METHOD) throw new StartError(`recordings: ${file}: frames is missing here: a list of frames`)
  return []
}

function piecesOf(response: JsonObject, headAt: number, isStream: boolean): readonly PlayedPiece[] {
  if (Array.isArray(response.chunks)) {
    return response.chunks.flatMap(chunk =>
      isObject(chunk) && typeof chunk.text === 'string'
        ? [{ at: chunk.after_ms === undefined ? headAt : numberOf(chunk.after_ms), bytes: Buffer.from(chunk.text) }]
        : [],
    )
  }
  const bytes = decoded(bytesOf(response, isStream), headerOf(response.headers, 'content-encoding'))
  return bytes.length === 0 ? [] : [{ at: headAt, bytes }]
}

/** The body by any of the names that recorders have for it. */
function bytesOf(side: JsonObject, isStream: boolean): Buffer {
  const { body, parsed_body, base64, bodySegments } = side
  if (typeof base64 === 'string') return Buffer.from(base64, 'base64')
  if (Array.isArray(bodySegments)) return segments(bodySegments, isStream)
  if (parsed_body !== undefined && parsed_body !== null) return Buffer.from(JSON.stringify(parsed_body))
  return body === undefined || body === null ? Buffer.alloc(0) : bytesOfBody(body)
}

function bytesOfBody(body: Json): Buffer {
  if (typeof body === 'string') return Buffer.from(body)
  if (isObject(body)) {
    if (typeof body.base64_string === 'string') return Buffer.from(body.base64_string, 'base64')
    if (typeof body.base64 === 'string') return Buffer.from(body.base64, 'base64')
    const isWrapped = 'string' in body && Object.keys(body).every(name => name === 'string' || name === 'encoding')
    if (isWrapped) return body.string === null || body.string === undefined ? Buffer.alloc(0) : bytesOfBody(body.string)
  }
  return Buffer.from(JSON.stringify(body))
}

/** Documents of a body, of which a stream has one in each event. */
function segments(parts: readonly Json[], isStream: boolean): Buffer {
  const texts = parts.map(part => (typeof part === 'string' ? part : JSON.stringify(part)))
  return Buffer.from(isStream ? texts.map(text => `data: ${text}\n\n`).join('') : texts.join(''))
}

function statusOf({ status, statusCode, code, status_code }: JsonObject): number | undefined {
  const written = isObject(status) ? status.code : (code ?? statusCode ?? status_code ?? status)
  const number = typeof written === 'string' ? Number.parseInt(written, 10) : written
  return typeof number === 'number' && ((number >= 200 && number <= 599) || number === SWITCHING) ? number : undefined
}

function harExchange(entry: Json, file: string): readonly PlayedExchange[] {
  if (!isObject(entry) || !isObject(entry.request) || !isObject(entry.response)) return []
  const { request, response, time, timings, _webSocketMessages: messages } = entry
  if (Array.isArray(messages)) return [sessionExchange(String(request.url ?? '/'), harSession(messages), file)]
  const { postData } = request
  const content = isObject(response.content) ? response.content : {}
  const text = typeof content.text === 'string' ? content.text : ''
  const wait = isObject(timings) ? numberOf(timings.wait ?? time) : numberOf(time)
  const sent = isObject(postData) ? { body: postData.text ?? '' } : {}
  const body = content.encoding === 'base64' ? { base64: text } : { body: text }
  const { method, url, headers } = request
  const whole = {
    request: { method: method ?? '', url: url ?? '', headers: named(headers), ...sent },
    response: { status: response.status ?? 0, headers: named(response.headers), after_ms: wait, ...body },
  }
  return exchange(whole, file)
}

/** Headers as HAR has them, `{ name, value }`, by their names. */
function named(headers: Json | undefined): JsonObject {
  const list = Array.isArray(headers) ? headers.filter(isObject) : []
  return Object.fromEntries(list.map(({ name, value }) => [String(name), value ?? '']))
}

function pairsOf(headers: Json | undefined): readonly (readonly [string, unknown])[] {
  return isObject(headers) ? Object.entries(headers) : []
}

function headerOf(headers: Json | undefined, name: string): string {
  const [, value] = pairsOf(headers).find(([known]) => known.toLowerCase() === name) ?? []
  return Array.isArray(value) ? String(value[0] ?? '') : typeof value === 'string' ? value : ''
}

function numberOf(value: Json | undefined): number {
  return typeof value === 'number' && value > 0 ? value : 0
}

/** A file of lines, each a document. */
export function documentsOfLines(text: string): readonly Json[] {
  return text.split('\n').flatMap(line => {
    const document = line === '' ? undefined : parseJson(line)
    return document === undefined ? [] : [document]
  })
}
