import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type t from 'tap'
import type { StoreConfig } from '../../src/core/store-config.js'
import { startPostgres, startRedis, withoutPostgres, withoutRedis } from './store-servers.js'

type Test = Pick<typeof t, 'teardown' | 'comment'>

/** A type of store. */
export interface StoreKind {
  readonly type: 'memory' | 'file' | 'redis' | 'postgres'
  /** Why it is skipped here, or false. */
  readonly skip: string | false
  /** An empty one. */
  make(test: Test): Promise<StoreConfig>
}

/** Long enough for a machine that does much else. */
const PATIENT = 10_000

/** Those that outlive a process, and can be shared by several. */
export const DURABLE: readonly StoreKind[] = [
  { type: 'file', skip: false, make: async test => ({ type: 'file', path: temporary(test) }) },
  {
    type: 'redis',
    skip: withoutRedis,
    make: async test => redisConfig(temporary(test), (await startRedis(test)).port),
  },
  {
    type: 'postgres',
    skip: withoutPostgres,
    make: async test => postgresConfig(temporary(test), (await startPostgres(test)).port),
  },
]

export const EVERY: readonly StoreKind[] = [
  { type: 'memory', skip: false, make: async test => ({ type: 'memory', path: temporary(test) }) },
  ...DURABLE,
]

/** The type of store that a whole file of tests is run on; a file that says none of its own runs on what is the default. */
const UNDER_TEST = process.env.STORE_UNDER_TEST

/** Gives a configuration an empty store of the type that the file is run on; one for the default stays as it is. */
export function onStoreUnderTest(root: Test): (test: Pick<Test, 'teardown'>, yaml: string) => Promise<string> {
  const kind = EVERY.find(({ type }) => type === UNDER_TEST)
  if (kind === undefined) return async (_, yaml) => yaml
  const stores = storesOf(root, kind)
  return async (test, yaml) => `${yaml.replace(/^store:.*$/m, '').trimEnd()}\nstore: ${await stores(test)}\n`
}

/** Stores on one server, which is started for the first of them: each is another empty one, as written below `store:`. */
export function storesOf(root: Test, { type, make }: StoreKind): (test: Pick<Test, 'teardown'>) => Promise<string> {
  let first: Promise<StoreConfig> | undefined
  let made = 0
  return async test => {
    if (type === 'file' || type === 'memory') return storeYaml({ type, path: temporary(test) })
    first ??= make(root)
    const config = await first
    const name = `gateway${++made}`
    return storeYaml(
      config.type === 'postgres' ? { ...config, schema: name } : ({ ...config, prefix: name } as StoreConfig),
    )
  }
}

export function redisConfig(path: string, port: number, timeout = PATIENT): StoreConfig & { readonly type: 'redis' } {
  const nodes = [{ host: '127.0.0.1', port }]
  return { type: 'redis', path, mode: 'single', nodes, database: 0, prefix: 'gateway', timeout }
}

export function postgresConfig(
  path: string,
  port: number,
  parts: { readonly pool?: number; readonly timeout?: number; readonly wait?: number } = {},
): StoreConfig & { readonly type: 'postgres' } {
  const where = { host: '127.0.0.1', port, database: 'gateway', user: 'gateway', schema: 'gateway' }
  return { type: 'postgres', path, ...where, pool: 8, timeout: PATIENT, wait: PATIENT, ...parts }
}

/** The same as a person writes it, below `store:`. */
export function storeYaml(config: StoreConfig): string {
  switch (config.type) {
    case 'redis':
      return `{ type: redis, hosts: ["127.0.0.1:${config.nodes[0]?.port}"], path: "${config.path}", prefix: ${config.prefix}, timeout: ${config.timeout}ms }`
    case 'postgres': {
      const { port, path, schema, timeout, wait } = config
      return `{ type: postgres, hosts: ["127.0.0.1:${port}"], user: gateway, path: "${path}", schema: ${schema}, timeout: ${timeout}ms, wait: ${wait}ms }`
    }
    default:
      return `{ type: ${config.type}, path: "${config.path}" }`
  }
}

export function temporary(test: Pick<Test, 'teardown'>): string {
  const folder = mkdtempSync(join(tmpdir(), 'gateway-store-'))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
