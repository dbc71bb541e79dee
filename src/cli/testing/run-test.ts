import { randomBytes } from 'node:crypto'
import { Writable } from 'node:stream'
import { isObject, type JsonObject } from '../../core/json.js'
import { startGateway } from '../../runtime/gateway.js'
import { ConfigError } from '../../runtime/problems.js'
import { faultsOf, type Outcome } from './expectations.js'
import { keyVariable, type OfflineConfig, UPSTREAM_VARIABLE } from './offline-config.js'
import { jsonOrText, ScriptedUpstreams } from './scripted-upstreams.js'
import type { TestCase } from './test-file.js'

/** How long a test may take, milliseconds. */
const TEST_TIMEOUT_MS = 30_000

export interface Ran {
  readonly faults: readonly string[]
  /** The model that the gateway was asked for. */
  readonly model: string | undefined
}

/** Runs one test on a gateway and upstreams of its own. */
export async function runTest(test: TestCase, config: OfflineConfig, file: string): Promise<Ran> {
  const upstreams = new ScriptedUpstreams(test.upstream)
  await upstreams.start()
  try {
    return await served(test, config, file, upstreams)
  } finally {
    await upstreams.close()
  }
}

async function served(test: TestCase, config: OfflineConfig, file: string, upstreams: ScriptedUpstreams): Promise<Ran> {
  const secrets = new Map(config.keys.map(name => [name, `gw-${randomBytes(24).toString('hex')}`]))
  const variables = [...secrets.values()].map((secret, at) => [keyVariable(at), secret])
  const text = config.text(Object.keys(test.upstream), (name, base) => upstreams.baseOf(name, base))
  const lines = new RequestLines()
  const gateway = await startGateway({
    file,
    text: Buffer.from(text),
    env: { ...process.env, ...Object.fromEntries(variables), [UPSTREAM_VARIABLE]: randomBytes(24).toString('hex') },
    overrides: { host: '127.0.0.1', port: 0 },
    secrets: 'assume',
    watch: false,
    log: lines,
  }).catch(error => {
    const [first] = error instanceof ConfigError ? error.problems.filter(({ severity }) => severity === 'error') : []
    throw first === undefined ? error : new Error(`${first.path}: ${first.message}`)
  })
  try {
    const outcome = await ask(test, gateway.origin, secrets, upstreams, lines)
    const { model } = outcome.line
    return { faults: faultsOf(test.expect, outcome), model: typeof model === 'string' ? model : undefined }
  } finally {
    gateway.closeNow()
    await gateway.closed
  }
}

async function ask(
  { request }: TestCase,
  origin: string,
  secrets: ReadonlyMap<string, string>,
  upstreams: ScriptedUpstreams,
  lines: RequestLines,
): Promise<Outcome> {
  const [method = '', path = ''] = request.to.split(' ')
  const secret = request.key === undefined ? [...secrets.values()][0] : secrets.get(request.key)
  if (secret === undefined) throw new Error(`the configuration has no key ${JSON.stringify(request.key ?? '')}`)
  const { body } = request
  const answer = await fetch(origin + path, {
    method,
    headers: {
      authorization: `Bearer ${secret}`,
      ...(body === undefined || typeof body === 'string' ? {} : { 'content-type': 'application/json' }),
      ...request.headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    signal: AbortSignal.timeout(TEST_TIMEOUT_MS),
  })
  const text = await answer.text()
  const line = await lines.first
  const headers = Object.fromEntries(answer.headers)
  return { status: answer.status, headers, text, line, calls: upstreams.calls }
}

/** Waits for the log's line about the one request of a test. */
class RequestLines extends Writable {
  readonly first: Promise<JsonObject>
  #resolve: (line: JsonObject) => void = () => undefined
  #rest = ''

  constructor() {
    super()
    this.first = new Promise(resolve => {
      this.#resolve = resolve
    })
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    const lines = (this.#rest + chunk.toString('utf8')).split('\n')
    this.#rest = lines.pop() ?? ''
    for (const text of lines) {
      const line = jsonOrText(text)
      if (isObject(line) && line.msg === 'request') this.#resolve(line)
    }
    done()
  }
}
