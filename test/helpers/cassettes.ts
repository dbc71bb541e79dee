import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse, type ScalarTag } from 'yaml'

/** One exchange of a cassette. Names of headers are in lower case; of several values there is the first. */
export interface CassetteExchange {
  readonly method: string
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly status: number
  readonly answerHeaders: Readonly<Record<string, string>>
  readonly answer: Buffer
}

export interface Cassette {
  readonly name: string
  readonly exchanges: readonly CassetteExchange[]
}

/** Cassettes of a folder, as two recorders of other languages write them in YAML, whose text matches. */
export function cassettesIn(folder: string, wanted: RegExp): Cassette[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter(file => /\.ya?ml$/.test(file))
    .map(name => ({ name, text: readFileSync(join(folder, name), 'utf8') }))
    .filter(({ text }) => wanted.test(text))
    .map(({ name, text }) => ({ name, exchanges: read(text) }))
}

/** One recorder tags bytes `!binary`, the other `!!binary`. */
const BINARY: ScalarTag = { tag: '!binary', resolve: (text: string) => Buffer.from(text, 'base64') }

interface Written {
  readonly http_interactions?: readonly WrittenExchange[]
  readonly interactions?: readonly WrittenExchange[]
}

interface WrittenExchange {
  readonly request: WrittenMessage & { readonly method: string; readonly uri: string }
  readonly response: WrittenMessage & { readonly status?: { readonly code: number }; readonly status_code?: number }
}

interface WrittenMessage {
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  readonly body?: Text | Kept | null
  readonly parsed_body?: unknown
  readonly content?: Text
}

interface Kept {
  readonly string?: Text | undefined
  readonly base64_string?: string
}

type Text = string | Uint8Array

function read(text: string): CassetteExchange[] {
  const { http_interactions, interactions }: Written = parse(text, { customTags: ['binary', BINARY] })
  return (http_interactions ?? interactions ?? []).map(({ request, response }) => ({
    method: request.method.toUpperCase(),
    url: new URL(request.uri),
    headers: headersOf(request),
    body: bytesOf(request),
    status: response.status?.code ?? response.status_code ?? 0,
    answerHeaders: headersOf(response),
    answer: bytesOf(response),
  }))
}

/** What was parsed when it was recorded is written again. */
function bytesOf({ body, parsed_body, content }: WrittenMessage): Buffer {
  if (parsed_body !== undefined) return Buffer.from(JSON.stringify(parsed_body))
  const kept: Kept | null = typeof body === 'object' && !(body instanceof Uint8Array) ? body : { string: body }
  if (kept?.base64_string !== undefined) return Buffer.from(kept.base64_string, 'base64')
  return Buffer.from(content ?? kept?.string ?? '')
}

function headersOf({ headers }: WrittenMessage): Record<string, string> {
  const pairs = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), [value].flat()[0] ?? ''])
  return Object.fromEntries(pairs)
}
