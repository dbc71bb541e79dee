import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { load } from '../../src/config/load.js'
import { DEFAULTS } from '../../src/core/defaults.generated.js'
import { BASE, folderWith, SHIPPED, tryLoad } from './support.js'

t.test('a small file gives a whole configuration', async t => {
  const { config, problems, folder } = await tryLoad(t, BASE)
  t.same(problems, [])
  t.same(config?.listen, { host: '127.0.0.1', port: 8080, backlog: 4096 })
  t.same(config?.limits, DEFAULTS.limits)
  t.same(config?.timeouts, DEFAULTS.timeouts)
  t.same(config?.retry, DEFAULTS.retry)
  t.same(config?.store, { type: 'file', path: join(folder, 'data') })
  t.same(config?.log, { format: 'auto', level: 'info' })
  t.same(Object.keys(config?.models ?? {}), ['sim-text'])
  t.same(Object.keys(config?.upstreams ?? {}), ['sim'])
  t.same(Object.keys(config?.schemas ?? {}), ['chat.request'])
})

t.test('what the file says of limits, time-outs and retries goes over the defaults one by one', async t => {
  const { config } = await tryLoad(
    t,
    `${BASE}limits: { body: 1MiB, headers: 5s, depth: 8 }\ntimeouts: { idle: 1.5m }\nretry: { on: [503] }\n`,
  )
  t.same(config?.limits, { ...DEFAULTS.limits, body: 1_048_576, headers: 5000, depth: 8 })
  t.same(config?.timeouts, { ...DEFAULTS.timeouts, idle: 90_000 })
  t.same(config?.retry, { ...DEFAULTS.retry, on: [503] })
})

t.test('the command line wins over the file', async t => {
  const text = `${BASE}listen: { host: 127.0.0.1, port: 9000 }\nlog: { level: warn }\n`
  const { config } = await tryLoad(t, text, { overrides: { host: '::1', port: 0, logLevel: 'trace' } })
  t.same(config?.listen, { host: '::1', port: 0, backlog: 4096 })
  t.same(config?.log, { format: 'auto', level: 'trace' })
})

t.test('variables are filled in where they are, in numbers and choices too', async t => {
  const env = { PORT: '9001', LEVEL: 'debug', DATA: '/var/data', BODY: '2MiB' }
  const text = `${BASE}listen:\n  port: $\{PORT}\nlog: { level: "$\{LEVEL}" }\nstore: { type: "$\{STORE:-memory}", path: "$\{DATA}" }\nlimits: { body: "$\{BODY}" }\n`
  const { config } = await tryLoad(t, text, { env })
  t.equal(config?.listen.port, 9001)
  t.equal(config?.log.level, 'debug')
  t.same(config?.store, { type: 'memory', path: '/var/data' })
  t.equal(config?.limits.body, 2_097_152)
})

t.test('a file that does not exist is reported, and is a source: it may appear', async t => {
  const folder = folderWith(t, {})
  const file = join(folder, 'gateway.yaml')
  const { config, problems, sources } = await load({ file, env: {} })
  t.equal(config, undefined)
  t.match(problems, [
    {
      rule: 'unreadable-file',
      message: 'cannot read this file: there is no such file',
      position: { file, line: 1, column: 1 },
    },
  ])
  t.same(sources, [file])
})

t.test('a folder without files is reported', async t => {
  const folder = folderWith(t, {})
  mkdirSync(join(folder, 'gateway.yaml'))
  const { problems } = await load({ file: join(folder, 'gateway.yaml'), env: {} })
  t.match(problems, [{ message: 'this folder has no *.yaml file' }])
})

t.test('a relative path is taken from the working directory', async t => {
  const { problems } = await load({ file: 'nowhere/gateway.yaml', env: {} })
  t.equal(problems[0]?.position.file, join(process.cwd(), 'nowhere/gateway.yaml'))
})

t.test('names of Object.prototype are names like any others', async t => {
  const text =
    'version: 1\nkeys: { constructor: { secret: { env: K, generate: true } } }\nupstreams: { toString: { kind: simulator } }\nmodels: { __proto__: toString, constructor: toString }\n'
  const { config, problems } = await tryLoad(t, text)
  t.same(problems, [])
  t.same(Object.keys(config?.models ?? {}), ['__proto__', 'constructor'])
  t.equal(({} as { targets?: unknown }).targets, undefined)
})

t.test(
  'every file that was asked for is a source: shipped ones, secrets, certificates and schemas, there or not',
  async t => {
    const files = {
      'gateway.yaml': `version: 1\ninclude: [more.yaml]\nlisten: { tls: { cert: ./cert.pem, key: ./key.pem } }\nkeys: { me: { secret: { file: ./absent.key } } }\nupstreams: { sim: { kind: simulator } }\nschemas: { own: ./own.json }\n`,
      'more.yaml': 'models: { sim-text: sim }\n',
      'own.json': '{}',
    }
    const { sources, folder } = await tryLoad(t, files)
    const own = sources.filter(file => file.startsWith(folder)).map(file => file.slice(folder.length + 1))
    t.same(own, ['absent.key', 'cert.pem', 'gateway.yaml', 'key.pem', 'more.yaml', 'own.json'])
    t.ok(sources.includes(join(SHIPPED, 'routes/compatible.yaml')))
    t.ok(sources.includes(join(SHIPPED, 'routes/kinds/simulator.yaml')))
  },
)

t.test('the digest is the same for the same sources and variables, and another for any change', async t => {
  const folder = folderWith(t, {
    'gateway.yaml': `${BASE}include: [parts/*.yaml]\n`,
    'parts/a.yaml': 'models: { a: sim }\n',
  })
  const digest = async (env = {}, overrides = {}): Promise<string> =>
    (await load({ file: join(folder, 'gateway.yaml'), env, overrides, shipped: SHIPPED })).digest
  const first = await digest()
  t.match(first, /^[0-9a-f]{64}$/)
  t.equal(await digest({ UNUSED: 'x' }), first, 'a variable that nothing asks for changes nothing')
  t.equal(await digest({}, { port: 1 }), first, 'nor does what the command line says of this process')
  const elsewhere = join(folderWith(t, {}), 'elsewhere')
  cpSync(folder, elsewhere, { recursive: true })
  const moved = await load({ file: join(elsewhere, 'gateway.yaml'), env: {}, shipped: SHIPPED })
  t.equal(moved.digest, first, 'nor where the files are')
  const seen = new Set([first])
  const changes: Record<string, () => Promise<string>> = {
    'a variable': () => digest({ GATEWAY_KEY: 'gw-0123456789abcdef' }),
    'a variable that is set and empty': () => digest({ GATEWAY_KEY: '' }),
    'whether keys of the store are counted': () => digest({}, { counted: true }),
    'an included file': () => {
      writeFileSync(join(folder, 'parts/a.yaml'), 'models: { b: sim }\n')
      return digest()
    },
    'a further file': () => {
      writeFileSync(join(folder, 'parts/b.yaml'), '')
      return digest()
    },
    'a file that is gone': () => {
      rmSync(join(folder, 'parts/a.yaml'))
      return digest()
    },
  }
  for (const [title, change] of Object.entries(changes)) {
    const changed = await change()
    t.notOk(seen.has(changed), title)
    seen.add(changed)
  }
})

t.test('a secret file changes the digest', async t => {
  const folder = folderWith(t, {
    'gateway.yaml': BASE.replace('env: GATEWAY_KEY, generate: true', 'file: ./me.key'),
    'me.key': 'gw-0123456789abcdef',
  })
  const once = await load({ file: join(folder, 'gateway.yaml'), env: {}, shipped: SHIPPED })
  writeFileSync(join(folder, 'me.key'), 'gw-0123456789abcdeX')
  const twice = await load({ file: join(folder, 'gateway.yaml'), env: {}, shipped: SHIPPED })
  t.not(once.digest, twice.digest)
})

t.test('folders of globs are watched, also those that are empty or not there', async t => {
  const { watch, folder } = await tryLoad(t, `${BASE}include: [parts/*.yaml, deep/**/*.yaml, gateway.yaml]\n`)
  t.same(watch, [join(folder, 'deep'), join(folder, 'parts')])
})

t.test(
  'includes are relative to the file in which they are, and read through links as Kubernetes makes them',
  async t => {
    const folder = folderWith(t, {
      'gateway.yaml': `${BASE}include: [parts/*.yaml]\n`,
      'parts/..2025/a.yaml': 'include: [../more/b.yaml]\nmodels: { a: sim }\n',
      'more/b.yaml': 'models: { b: sim }\n',
    })
    symlinkSync('..2025', join(folder, 'parts/..data'))
    symlinkSync('..data/a.yaml', join(folder, 'parts/a.yaml'))
    const { config, problems } = await load({ file: join(folder, 'gateway.yaml'), env: {}, shipped: SHIPPED })
    t.same(problems, [])
    t.same(Object.keys(config?.models ?? {}), ['sim-text', 'a', 'b'])
  },
)

t.test('the shipped files load without a problem', async t => {
  const folder = folderWith(t, { 'gateway.yaml': BASE })
  const { problems, config } = await load({ file: join(folder, 'gateway.yaml'), env: {} })
  t.same(problems, [])
  t.ok(config?.routes['POST /v1/chat/completions'])
})

t.test('ten thousand routes load in time that grows with their number, not with its square', async t => {
  const routes = (count: number): string =>
    Array.from({ length: count }, (_, i) => `  POST /x${i}: { protocol: chat, model: body.model }`).join('\n')
  const { config, problems } = await tryLoad(t, `${BASE}routes:\n${routes(10_000)}\n`)
  t.same(problems, [])
  t.equal(Object.keys(config?.routes ?? {}).length, 10_005)
})

t.test('large bodies go to the data folder where the file names one, or a file store has one', async t => {
  const spoolOf = async (store: string): Promise<string | undefined> => {
    const { config, folder } = await tryLoad(t, `${BASE}${store}`)
    return config?.spool.path.replace(folder, '.')
  }
  t.equal(await spoolOf(''), './data/spool')
  t.equal(await spoolOf('store: { type: memory, path: /data }\n'), '/data/spool')
  t.equal(await spoolOf('store: { type: redis, hosts: ["127.0.0.1:1"], path: ./d }\nspool: { path: ./s }\n'), './s')
  t.match(await spoolOf('store: { type: memory }\n'), join(tmpdir(), 'model-gateway-spool-'))
})

t.test('a cluster of Redis has database 0 alone', async t => {
  const env = { STORE_URL: 'redis://127.0.0.1:7000/2' }
  const of = async (rest: string): Promise<readonly string[]> =>
    (await tryLoad(t, `${BASE}store: { type: redis, ${rest}, url: { env: STORE_URL } }\n`, { env })).reported
  t.same(await of('cluster: true'), ['bad-value 8:43'])
  t.same(await of('database: 3, cluster: true'), ['bad-value 8:33'])
  t.same(await of('database: 0, cluster: true'), [])
  t.same(await of('cluster: false'), [])
})

t.test('the address of a store that is not URL-encoded is an error at its place, and is not shown', async t => {
  for (const [type, url] of [
    ['redis', 'redis://:100%pass@127.0.0.1:6379'],
    ['postgres', 'postgres://u:100%p@127.0.0.1/d'],
  ]) {
    const { reported, text } = await tryLoad(t, `${BASE}store: { type: ${type}, url: { env: STORE_URL } }\n`, {
      env: { STORE_URL: url },
    })
    t.same(reported, [`bad-value 8:${type === 'redis' ? 28 : 31}`])
    t.notMatch(text, '100%')
  }
})
