import { subscribe } from 'node:diagnostics_channel'
import { ClientPool } from '../../src/transport/client/pool.js'
import { type OpenApiName, openApi, openApiFolder } from './openapi.js'

/**
 * Every JSON request that a gateway of this process sends to an upstream is checked against the OpenAPI document of the
 * upstream's family, in every test: one look at what the HTTP clients are given. The process ends with an
 * error where one does not fit. Files whose clients send, on purpose, what no document allows say so by {@link relaysAnything}.
 */

/** The kind of document by the end of the path. */
const KINDS: readonly (readonly [RegExp, OpenApiName])[] = [
  [/\/chat\/completions$/, 'chat.request'],
  [/\/responses$/, 'responses.request'],
  [/\/responses\/input_tokens$/, 'responses-count.request'],
  [/\/embeddings$/, 'embeddings.request'],
  [/\/moderations$/, 'moderations.request'],
  [/\/images\/generations$/, 'images.request'],
  [/\/audio\/speech$/, 'speech.request'],
  [/\/messages$/, 'messages.request'],
  [/\/messages\/count_tokens$/, 'messages-count.request'],
  [/:(?:stream)?generateContent$/i, 'generate.request'],
  [/:countTokens$/, 'generate-count.request'],
  [/\/model\/[^/]+\/converse(?:-stream)?$/, 'converse.request'],
  [/:embedContent$/, 'embed.request'],
  [/:batchEmbedContents$/, 'embed-batch.request'],
]

/** Documents of what a beta header, which is beside the body, switches on. */
const BETAS: Partial<Record<OpenApiName, OpenApiName>> = {
  'messages.request': 'messages-beta.request',
  'messages-count.request': 'messages-beta-count.request',
}

interface Emitted {
  readonly id: string
  readonly path: string
  readonly kind: OpenApiName
  readonly name: OpenApiName
  readonly body: Uint8Array
}

/** Bytes that are gathered before they are checked: checking takes time that tests do not have. */
const BATCH = 512 * 1024 * 1024
/** Faults that are reported. */
const MOST = 20

let gathered: Emitted[] = []
let size = 0
let checked = 0
const seen = new Set<string>()
const faults: string[] = []
/** Paths that clients asked for, by the request's id: what goes out under the same kind of path is relayed. */
const asked = new Map<string, string>()
const allowed: RegExp[] = []
let relayed: 'checked' | 'free' = 'checked'
let isWatching = false

/** Starts to watch this process, once. Says aloud where there are no documents to check with. */
export function watchEmitted(): void {
  if (isWatching) return
  isWatching = true
  if (openApiFolder() === undefined) return
  subscribe('undici:request:create', message => note((message as { request: Created }).request))
  const { send } = ClientPool.prototype
  ClientPool.prototype.send = function noted(request, handler) {
    note(request)
    send.call(this, request, handler)
  }
  process.on('exit', () => {
    const found = takeFaults()
    if (found.length === 0) return
    const some = found.slice(0, MOST).join('\n')
    console.error(`# ${found.length} of ${checked} requests to upstreams break their OpenAPI documents:\n${some}`)
    process.exitCode = 1
  })
}

/** Requests that go through byte for byte are not checked in this file: its clients send what no document allows. */
export function relaysAnything(): void {
  relayed = 'free'
}

/** Faults that match are meant: what is wrong is for the upstream to refuse. */
export function allowFault(pattern: RegExp): void {
  allowed.push(pattern)
}

/** The faults so far, which then count no more. */
export function takeFaults(): readonly string[] {
  check()
  return faults.splice(0)
}

/** What the client asked for, as the log tells it. */
export function noteAsked(id: unknown, route: unknown): void {
  if (typeof id === 'string' && typeof route === 'string') asked.set(id, route.slice(route.indexOf(' ') + 1))
}

/** What the HTTP clients are given. */
interface Created {
  readonly path: string
  readonly headers: readonly string[] | string
  readonly body: unknown
}

function note({ path, headers, body }: Created): void {
  const kind = kindOf(path)
  if (kind === undefined || !(body instanceof Uint8Array)) return
  const fields = fieldsOf(headers)
  const name = fields.has('anthropic-beta') ? (BETAS[kind] ?? kind) : kind
  gathered.push({ id: fields.get('x-request-id') ?? '', path, kind, name, body })
  size += body.length
  if (size > BATCH) check()
}

function kindOf(path: string): OpenApiName | undefined {
  const plain = decodeURIComponent(path.split('?')[0] ?? '')
  return KINDS.find(([pattern]) => pattern.test(plain))?.[1]
}

function fieldsOf(headers: Created['headers']): ReadonlyMap<string, string> {
  const flat = typeof headers === 'string' ? headers.split(/\r\n|: /) : headers
  const pairs = flat.flatMap((name, i): readonly [string, string][] => (i % 2 === 0 ? [[name, flat[i + 1] ?? '']] : []))
  return new Map(pairs)
}

function check(): void {
  for (const one of gathered) {
    const { id, path, kind, name } = one
    const route = asked.get(id)
    if (relayed === 'free' && (route === undefined || kindOf(route) === kind)) continue
    const body = Buffer.from(one.body.buffer, one.body.byteOffset, one.body.byteLength).toString('utf8')
    const key = `${name} ${body}`
    if (seen.has(key)) continue
    if (key.length < 10_000) seen.add(key)
    checked++
    const found = faultsOf(name, body).join('; ')
    if (found === '' || allowed.some(pattern => pattern.test(found))) continue
    faults.push(`${path} (asked as ${route}): ${found}\n    ${body.slice(0, 1000)}`)
  }
  gathered = []
  size = 0
}

function faultsOf(name: OpenApiName, body: string): readonly string[] {
  try {
    return openApi(name)(JSON.parse(body)).slice(0, 3)
  } catch {
    return ['it is not JSON']
  }
}
