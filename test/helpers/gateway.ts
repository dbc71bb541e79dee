import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Writable } from 'node:stream'
import type t from 'tap'
import type { Feature } from '../../src/kernel/stages.js'
import { type Gateway, startGateway } from '../../src/runtime/gateway.js'
import { canary, witness } from './canaries.js'
import { noteAsked, watchEmitted } from './emitted.js'
import { Journal } from './journal.js'
import { type Answer, connectRaw, type RawClient, type RequestOptions, request, requestBytes } from './raw-client.js'

type Test = Pick<typeof t, 'teardown'>

/** One line of the gateway's log. */
export type LogLine = Readonly<Record<string, unknown>> & { readonly msg?: string; readonly level?: unknown }

export interface TestGateway {
  readonly gateway: Gateway
  readonly origin: string
  /** Folder of the configuration; removed at the end. */
  readonly folder: string
  /** The caller's key that {@link CALLER} declares: every model. */
  readonly key: string
  readonly log: Journal<LogLine>
  /** A request with the caller's key, on a connection of its own. */
  request(path: string, options?: RequestOptions): Promise<Answer>
  /** `POST /v1/chat/completions` with the caller's key. */
  chat(body?: Readonly<Record<string, unknown>>, options?: RequestOptions): Promise<Answer>
  /** Sends a request with the caller's key and hands over the connection. */
  open(path: string, options?: RequestOptions): Promise<RawClient>
  /** Replaces a file of the configuration, by rename. */
  write(name: string, text: string): Promise<void>
}

export interface GatewayOptions {
  /** Further files, by their path relative to gateway.yaml. */
  readonly files?: Readonly<Record<string, string>>
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly watch?: boolean
  readonly features?: readonly Feature[]
}

/** The key that tests call with, its secret in the variable `CALLER_KEY`. */
export const CALLER = 'keys: { caller: { secret: { env: CALLER_KEY }, models: ["*"] } }'

const CALLS = [
  'chat: POST /v1/chat/completions',
  'completions: POST /v1/completions',
  'embeddings: POST /v1/embeddings',
  'moderations: POST /v1/moderations',
  'files: POST /v1/files',
  'images.generations: POST /v1/images/generations',
  'images.edits: POST /v1/images/edits',
  'images.variations: POST /v1/images/variations',
  'transcriptions: POST /v1/audio/transcriptions',
  'translations: POST /v1/audio/translations',
  'speech: POST /v1/audio/speech',
  'rerank: POST /v1/rerank',
  'rerank.v2: POST /v2/rerank',
  'responses: POST /v1/responses',
]

/** A mapping of an upstream that speaks the whole compatible family under the reference paths. */
export function upstreamYaml(origin: string, more = ''): string {
  const credential = '{ in: header, name: authorization, scheme: Bearer, secret: { env: UPSTREAM_KEY } }'
  return `{ base: "${origin}", credential: ${credential}, speaks: { ${CALLS.join(', ')} }${more === '' ? '' : `, ${more}`} }`
}

/** A configuration with one upstream `up` and the model `m` on it; `more` is appended as it is. */
export function oneUpstream(origin: string, more = '', upstream = ''): string {
  return `version: 1\n${CALLER}\nupstreams:\n  up: ${upstreamYaml(origin, upstream)}\nmodels: { m: up }\n${more}`
}

export const CHAT = { model: 'm', messages: [{ role: 'user', content: 'hello' }] } as const

/**
 * Starts the gateway in this process on a free loopback port, from files in a temporary folder. Log lines are parsed
 * and kept; `env` holds nothing but what is given, and a key for the caller and for upstreams.
 */
export async function startTestGateway(test: Test, yaml: string, options: GatewayOptions = {}): Promise<TestGateway> {
  watchEmitted()
  const folder = mkdtempSync(join(tmpdir(), 'gateway-test-'))
  const files = { 'gateway.yaml': yaml, ...options.files }
  for (const [name, text] of Object.entries(files)) await writeInto(folder, name, text)
  const log = new Journal<LogLine>('log')
  const env = { CALLER_KEY: canary('caller'), UPSTREAM_KEY: canary('upstream'), ...options.env }
  const gateway = await startGateway({
    file: join(folder, 'gateway.yaml'),
    env,
    overrides: { host: '127.0.0.1', port: 0 },
    watch: options.watch ?? false,
    ...(options.features !== undefined && { features: options.features }),
    log: lines(line => {
      noteAsked(line.id, line.route)
      log.push(line)
    }),
  })
  test.teardown(async () => {
    gateway.closeNow()
    await gateway.closed
    rmSync(folder, { recursive: true, force: true })
  })
  return testGateway(test, gateway, folder, env.CALLER_KEY ?? '', log)
}

function testGateway(test: Test, gateway: Gateway, folder: string, key: string, log: Journal<LogLine>): TestGateway {
  const { origin } = gateway
  const withKey = (options: RequestOptions = {}): RequestOptions => ({ key, ...options })
  return {
    gateway,
    origin,
    folder,
    key,
    log,
    request: (path, options) => request(test, origin, path, withKey(options)),
    chat: (body, options) =>
      request(test, origin, '/v1/chat/completions', withKey({ body: { ...CHAT, ...body }, ...options })),
    open: async (path, options) => {
      const client = await connectRaw(test, origin)
      await client.send(requestBytes(origin, path, withKey(options)), options?.cuts)
      return client
    },
    write: async (name, text) => {
      // In place it would be empty for a moment, in which a reload may read it.
      await writeInto(folder, `${name}.new`, text)
      await rename(join(folder, `${name}.new`), join(folder, name))
    },
  }
}

/**
 * Tests do not wait for retries, nor shed what comes while their own clients and upstreams keep this process busy;
 * `TEST_TRANSPORT=node` runs them on the other transport.
 */
async function writeInto(folder: string, name: string, text: string): Promise<void> {
  const file = join(folder, name)
  await mkdir(dirname(file), { recursive: true })
  const isMain = name.startsWith('gateway.yaml')
  const isOther = process.env.TEST_TRANSPORT === 'node' && isMain && !text.includes('transport:')
  const lacks = (section: RegExp): boolean => isMain && /^version:/m.test(text) && !section.test(text)
  const more = [
    isOther ? '\ntransport: node' : '',
    lacks(/^retry:/m) ? '\nretry: { max_wait: 1ms }' : '',
    lacks(/^overload:/m) ? '\noverload: { loop_delay: 24h }' : '',
  ].join('')
  await writeFile(file, more === '' ? text : `${text}${more}\n`)
}

/** A writable that takes JSON lines apart. */
function lines(push: (line: LogLine) => void): Writable {
  let rest = ''
  return new Writable({
    write(data: Buffer, _encoding, done) {
      witness('log', data)
      const parts = (rest + data.toString('utf8')).split('\n')
      rest = parts.pop() ?? ''
      for (const part of parts) if (part !== '') push(JSON.parse(part) as LogLine)
      done()
    },
  })
}
