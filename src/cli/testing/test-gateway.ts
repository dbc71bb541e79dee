import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import { PassThrough } from 'node:stream'
import { type Gateway, startGateway } from '../../runtime/gateway.js'
import { loadLocated } from '../../runtime/load.js'
import { ConfigError } from '../../runtime/problems.js'
import { keyVariable, OfflineConfig } from './offline-config.js'
import { answerer, type ScriptedModel } from './scripted-models.js'
import { type Call, ScriptedUpstreams } from './scripted-upstreams.js'
import type { Script } from './test-file.js'

/** Scripted models, or a file of yours with scripted upstreams. */
export type TestGatewayOptions = TestModels | TestFile

interface TestModels {
  /** What each model answers, by the name that the app asks for. */
  readonly models: Readonly<Record<string, ScriptedModel>>
}

interface TestFile {
  /** A configuration: its keys, models, routes and limits hold; addresses and secrets are replaced. */
  readonly file: string
  /** What its upstreams answer. The others answer 503, but for embedded simulators. */
  readonly upstreams?: Readonly<Record<string, Script>>
}

export interface TestGateway {
  /** Where it listens: `http://127.0.0.1:PORT`. Most SDKs want `/v1` behind it. */
  readonly origin: string
  /** A key that may call; of a file, that of its first key. */
  readonly key: string
  /** The keys of the file, by name. */
  readonly keys: Readonly<Record<string, string>>
  /** What upstreams were sent, oldest first. */
  readonly calls: readonly Call[]
  readonly gateway: Gateway
  /** Ends it at once. */
  close(): Promise<void>
}

/** The one upstream of scripted models. */
const SCRIPTED = 'scripted'
const KEY = 'test'
const SECRET_BYTES = 24

/**
 * Starts a gateway for tests of an app: on a free port of loopback, with its state in memory, without log lines, and with upstreams that
 * answer what the test says. Throws `ConfigError` if the file is not valid.
 */
export async function testGateway(options: TestGatewayOptions): Promise<TestGateway> {
  const scripts = 'models' in options ? { [SCRIPTED]: answerer(options.models) } : (options.upstreams ?? {})
  const config = 'models' in options ? undefined : await offline(options.file)
  const upstreams = new ScriptedUpstreams(scripts)
  await upstreams.start()
  const names = config?.keys ?? [KEY]
  const keys = Object.fromEntries(names.map(name => [name, `gw-${randomBytes(SECRET_BYTES).toString('hex')}`]))
  const baseOf = (name: string, base: string): string => upstreams.baseOf(name, base)
  const file = config?.main ?? resolve('test.yaml')
  const documents = config?.files('models' in options ? {} : (options.upstreams ?? {}), baseOf) ?? [
    {
      path: file,
      bytes: modelsText('models' in options ? Object.keys(options.models) : [], baseOf(SCRIPTED, 'http://host')),
    },
  ]
  const secrets = Object.values(keys).map((secret, at) => [keyVariable(at), secret])
  const gateway = await startGateway({
    file,
    documents,
    env: { ...process.env, ...Object.fromEntries(secrets) },
    overrides: { host: '127.0.0.1', port: 0 },
    secrets: 'assume',
    watch: false,
    log: new PassThrough().resume(),
  }).catch(async (error: unknown) => {
    await upstreams.close()
    throw error
  })
  const close = async (): Promise<void> => {
    gateway.closeNow()
    await gateway.closed
    await upstreams.close()
  }
  return { origin: gateway.origin, key: keys[names[0] ?? ''] ?? '', keys, calls: upstreams.calls, gateway, close }
}

async function offline(file: string): Promise<OfflineConfig> {
  const loaded = await loadLocated({ file, env: process.env, secrets: 'assume' })
  if (loaded.config === undefined) throw new ConfigError(loaded.problems)
  return new OfflineConfig(loaded.documents, loaded.config)
}

/** JSON is YAML. What a script says reaches the app: nothing is tried again. */
function modelsText(models: readonly string[], base: string): Buffer {
  const text = JSON.stringify({
    version: 1,
    log: { level: 'info', format: 'json' },
    store: { type: 'memory' },
    retry: { attempts: 1 },
    health: 'off',
    keys: { [KEY]: { secret: { env: keyVariable(0) }, models: ['*'] } },
    upstreams: { [SCRIPTED]: { base, speaks: { chat: 'POST /v1/chat/completions' } } },
    models: Object.fromEntries(models.map(name => [name, SCRIPTED])),
  })
  return Buffer.from(text)
}
