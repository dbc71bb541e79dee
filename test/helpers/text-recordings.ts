import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Frame } from '../../src/core/codec.js'
import { isObject, type Json, type JsonObject } from '../../src/core/json.js'
import { SseDecoder } from '../../src/wire/sse.js'
import { type Recording, readRecordings, recordingsFile } from './recordings.js'

/** The protocols that were recorded: converse was not. */
export const TEXT_PROTOCOLS = ['chat', 'responses', 'messages', 'generate'] as const
export type TextProtocol = (typeof TEXT_PROTOCOLS)[number]

/** One recorded exchange of a text protocol: what was asked (where that was recorded), and how it was answered. */
export interface TextExchange {
  readonly name: string
  readonly provider: string
  readonly protocol: TextProtocol
  /** Sent to the version of the protocol that is still in the making. */
  readonly beta: boolean
  /** The model that the path names, for the protocol that has it there. */
  readonly model: string | undefined
  readonly status: number
  readonly request: JsonObject | undefined
  /** The answer: frames of a stream, or one document; neither where the recording lost it. */
  readonly frames?: readonly Frame[]
  readonly result?: Json
  /** The bytes of a stream, unchanged. */
  readonly bytes?: Buffer
}

const PATHS: readonly (readonly [TextProtocol, RegExp])[] = [
  ['chat', /\/chat\/completions$/],
  ['responses', /\/responses$/],
  ['messages', /\/messages$/],
  ['generate', /\/models\/[^/]+:(?:generateContent|streamGenerateContent)$/],
]

const LIMITS = { line: 16 * 1024 * 1024, event: 16 * 1024 * 1024 }

/** Every recorded exchange of these protocols; none (said aloud) where the recordings are not here. */
export async function textExchanges(): Promise<readonly TextExchange[]> {
  const file = recordingsFile()
  if (file === undefined) return []
  const found: TextExchange[] = []
  for await (const recording of readRecordings(file)) {
    const exchange = exchangeOf(recording)
    if (exchange !== undefined) found.push(exchange)
  }
  return [...found, ...fixtures(dirname(file))]
}

function exchangeOf({ file, n, provider, request, response }: Recording): TextExchange | undefined {
  const url = new URL(request.url, 'http://recorded')
  const protocol = PATHS.find(([, path]) => path.test(url.pathname))?.[0]
  if (request.method !== 'POST' || protocol === undefined) return undefined
  return {
    name: `${file} #${n}`,
    provider,
    protocol,
    beta: url.searchParams.has('beta'),
    model: /\/models\/([^/:]+):/.exec(url.pathname)?.[1],
    status: response.status,
    request: isObject(request.body) && Object.keys(request.body).length > 0 ? request.body : undefined,
    ...answerOf(response.body, url.pathname.endsWith(':streamGenerateContent')),
  }
}

type Answer = Pick<TextExchange, 'frames' | 'result' | 'bytes'>

function answerOf(body: string, streamed: boolean): Answer {
  const text = body.trimStart()
  if (text === '') return {}
  if (/^(:|data:|event:)/.test(text)) {
    // Fixtures that were written by hand lack the last blank line.
    const bytes = Buffer.from(/\n\r?\n$/.test(text) ? text : `${text}\n\n`)
    return { frames: sseFrames(bytes), bytes }
  }
  const whole = parsed(text)
  if (streamed && Array.isArray(whole)) return { frames: whole.map(one => ({ data: JSON.stringify(one) })) }
  if (streamed && whole === undefined) return { frames: lines(text) }
  if (streamed && isObject(whole) && whole.error === undefined) return { frames: [{ data: text }] }
  return whole === undefined ? {} : { result: whole }
}

/** The frames of an event stream, whose bytes come in these pieces. */
export function sseFrames(...pieces: readonly Uint8Array[]): Frame[] {
  const decoder = new SseDecoder(LIMITS)
  return pieces.flatMap(bytes => decoder.push(bytes))
}

function lines(text: string): Frame[] {
  return text
    .split('\n')
    .filter(line => line.trim() !== '')
    .map(data => ({ data }))
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json
  } catch {
    return undefined
  }
}

interface Fixture {
  readonly file: string
  readonly kind: string
  readonly provider: string
  readonly endpoints: readonly string[]
  readonly statuses: readonly number[]
}

/** Answers without requests: one JSON document a file, the data of one event a line, or `{status, body}`. */
function fixtures(folder: string): TextExchange[] {
  return readFileSync(join(folder, 'index.jsonl'), 'utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as Fixture)
    .flatMap(({ file, kind, provider, endpoints, statuses }) => {
      const protocol = TEXT_PROTOCOLS.find(name => name === endpoints[0])
      // One provider calls its own protocol chat, too.
      if (protocol === undefined || provider === 'cohere' || !KINDS.includes(kind) || file.includes('speech')) return []
      const text = readFileSync(join(folder, file), 'utf8')
      const rest = { provider, protocol, beta: true, model: undefined, status: statuses[0] ?? 200, request: undefined }
      return [{ name: file, ...rest, ...fixtureAnswer(file, kind, protocol, text) }]
    })
}

const KINDS = ['vercel-fixture', 'sse-text', 'sdk-body']

function fixtureAnswer(file: string, kind: string, protocol: TextProtocol, text: string): Answer {
  if (kind === 'sse-text') return answerOf(text, true)
  if (kind === 'sdk-body') {
    const { body } = JSON.parse(text) as { body: Json }
    return typeof body === 'string' ? answerOf(body, false) : { result: body }
  }
  return file.endsWith('.json') ? answerOf(text, false) : { frames: named(protocol, lines(text)) }
}

/** Protocols whose events have names, where the fixture holds only their data. */
function named(protocol: TextProtocol, frames: readonly Frame[]): Frame[] {
  const ended = protocol === 'chat' && frames.at(-1)?.data !== '[DONE]' ? [...frames, { data: '[DONE]' }] : [...frames]
  if (protocol !== 'messages' && protocol !== 'responses') return ended
  return ended.map(({ data }) => {
    const document = parsed(data)
    return isObject(document) && typeof document.type === 'string' ? { event: document.type, data } : { data }
  })
}
