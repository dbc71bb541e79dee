import { isObject, type Json, parseJson } from '../../core/json.js'
import { Masker } from '../../core/masks.js'
import { MASKED, type RecordConfig, type RecordedChunk, type RecordedExchange } from '../../core/recording.js'
import type { Piece, WholeExchange } from './whole-exchange.js'

/** Headers of requests that a recording has: none that says who asks. */
const REQUEST_HEADERS = /^(content-type|accept|content-encoding|.+-(version|beta))$/
/** Headers of answers that no recording has. */
const LEFT_OUT =
  /cookie|authorization|token$|api-key|secret|organi[sz]ation|project|account|^(connection|keep-alive|transfer-encoding|content-length|date|server|via|alt-svc|cf-.*|report-to|nel|strict-transport-security)$/
/** Values of the query that are credentials. */
const SECRET_QUERY = /^(key|api[-_]?key|token|access_token|sig|signature)$/i
/** Texts that are credentials by their form: after `Bearer`, or with a prefix such as `sk-`. */
const CREDENTIALS = /\b(Bearer +)[\w.~+/=-]{8,}|\b(sk|pk|rk|gw)[-_][\w-]{16,}/gi
const HIDDEN = '[secret]'
/** Numbers that a double may not give back. */
const LONG_NUMBER = /[:,[]\s*-?(?=[\d.]*\d{16}|\d+\.?\d*[eE])/

/** The text of the file of an exchange: without secrets, masked as the configuration says. */
export function exchangeText(exchange: WholeExchange): string {
  const { about, request, status, headers, headAt, time } = exchange
  const cleaner = new Cleaner(about.config, about.secrets)
  const sent = Object.fromEntries(flatPairs(request.headers).filter(([name]) => REQUEST_HEADERS.test(name)))
  const received = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || LEFT_OUT.test(name) ? [] : [[name, cleaner.text(String(value))] as const],
  )
  const recorded: RecordedExchange & { readonly recorded: string } = {
    recorded: new Date(time).toISOString(),
    request: {
      method: request.method,
      url: cleaner.text(withoutSecrets(about.origin + request.path)),
      headers: Object.fromEntries(Object.entries(sent).map(([name, value]) => [name, cleaner.text(value)])),
      ...(request.body === null ? {} : { body: cleaner.body(Buffer.from(request.body).toString('utf8')) }),
    },
    response: {
      status,
      headers: Object.fromEntries(received),
      ...bodyOf(exchange, cleaner),
      after_ms: headAt,
    },
  }
  return `${JSON.stringify(recorded, undefined, 2)}\n`
}

function flatPairs(headers: readonly string[]): readonly (readonly [string, string])[] {
  return headers.flatMap((name, at) => (at % 2 === 0 ? [[name.toLowerCase(), headers[at + 1] ?? ''] as const] : []))
}

function withoutSecrets(url: string): string {
  const parsed = new URL(url)
  const names = [...parsed.searchParams.keys()].filter(name => SECRET_QUERY.test(name))
  for (const name of names) parsed.searchParams.delete(name)
  return names.length === 0 ? url : parsed.href
}

function bodyOf({ pieces, headers }: WholeExchange, cleaner: Cleaner): Partial<RecordedExchange['response']> {
  const type = String(headers['content-type'] ?? '')
  const bytes = Buffer.concat(pieces.map(piece => piece.bytes))
  if (bytes.length === 0) return {}
  const text = bytes.toString('utf8')
  if (Buffer.compare(Buffer.from(text), bytes) !== 0) return { base64: bytes.toString('base64') }
  const isStream = /event-stream|ndjson|jsonl/.test(type)
  return isStream ? { chunks: chunksOf(pieces, cleaner) } : { body: cleaner.body(text) }
}

/** The lines of a stream, those of an event together, with the time at which the last of them came. */
function chunksOf(pieces: readonly Piece[], cleaner: Cleaner): readonly RecordedChunk[] {
  const chunks: RecordedChunk[] = []
  const decoder = new TextDecoder()
  let rest = ''
  for (const { bytes, at } of pieces) {
    const whole = (rest + decoder.decode(bytes, { stream: true })).split(/(?<=\r?\n\r?\n)/)
    rest = whole.pop() ?? ''
    if (/\r?\n\r?\n$/.test(rest)) {
      whole.push(rest)
      rest = ''
    }
    for (const text of whole) chunks.push({ after_ms: at, text: cleaner.lines(text) })
  }
  if (rest !== '') chunks.push({ after_ms: pieces.at(-1)?.at ?? 0, text: cleaner.lines(rest) })
  return chunks
}

/** Takes secrets out of texts, and masks what the configuration names. */
class Cleaner {
  readonly #masker: Masker
  readonly #members: readonly (readonly string[])[]
  readonly #secrets: readonly string[]

  constructor({ mask, words, members }: RecordConfig, secrets: readonly string[]) {
    this.#masker = new Masker(mask, words)
    this.#members = members.map(path => path.split('.'))
    this.#secrets = secrets.filter(secret => secret !== '')
  }

  text(text: string): string {
    return this.#masker.text(this.#open(text))
  }

  /** JSON as such, where it is written back as it was; else its text. */
  body(text: string): Json {
    const open = this.#open(text)
    const document = LONG_NUMBER.test(open) ? undefined : parseJson(open)
    if (document === undefined || typeof document !== 'object') return this.#masker.body(open)
    return this.#document(document)
  }

  /** Lines, of which some are JSON, or fields of events with JSON. */
  lines(text: string): string {
    return this.#open(text)
      .split('\n')
      .map(line => {
        const [, head = '', rest = ''] = /^(data: ?)?(.*)$/s.exec(line) ?? []
        const document = parseJson(rest)
        if (!isObject(document)) return head + this.#masker.text(rest)
        const cleaned = this.#document(document)
        // An unchanged line keeps its bytes.
        return JSON.stringify(cleaned) === JSON.stringify(document) ? line : head + JSON.stringify(cleaned)
      })
      .join('\n')
  }

  #document(document: Json): Json {
    return this.#members.reduce(masked, this.#masker.value(document))
  }

  #open(text: string): string {
    const without = this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, HIDDEN), text)
    return without.replace(CREDENTIALS, (_, bearer?: string) => `${bearer ?? ''}${HIDDEN}`)
  }
}

/** The document with the member at a path masked; `*` is any element. */
function masked(value: Json, path: readonly string[]): Json {
  const [first, ...rest] = path
  if (first === undefined) return MASKED
  const step = (inner: Json, name: string): Json => (first === '*' || first === name ? masked(inner, rest) : inner)
  if (Array.isArray(value)) return value.map((inner, at) => step(inner, String(at)))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, step(inner, name)]))
}
