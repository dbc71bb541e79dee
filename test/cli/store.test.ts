import { statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { examineStore } from '../../src/cli/store-check.js'
import { postgresConfig, redisConfig, storeYaml } from '../helpers/store-kinds.js'
import { freePort, startPostgres, startRedis, withoutPostgres, withoutRedis } from '../helpers/store-servers.js'
import { run } from './bin.js'

const yaml = (store: string): string => `version: 1\nkeys: {}\nupstreams: {}\nmodels: {}\nstore: ${store}\n`
t.setTimeout(300_000)

/** Of the file, bytes. */
const PAGE = 4096
const quiet = { NODE_NO_WARNINGS: '1' }

t.test('a file store is checked before, while and after it is made', async t => {
  const cwd = t.testdir({ 'gateway.yaml': yaml('{ type: file, path: ./data }') })
  const command = async (name: string) => run(['store', name], { cwd, env: quiet })
  t.match(await command('check'), { code: 0, stdout: 'file: empty' })
  t.match(await command('migrate'), { code: 0, stdout: 'file: from nothing to schema 2' })
  t.match(await command('migrate'), { code: 0, stdout: 'file: schema 2 already' })
  t.match(await command('check'), {
    code: 0,
    stdout: /file: schema 2, a record was written, read and removed in [\d.]+ ms/,
  })
})

t.test('an empty store whose folder cannot be written does not work', async t => {
  const file = join(t.testdir({ plain: '' }), 'plain')
  const config = { type: 'file' as const, path: join(file, 'data') }
  const open = () => Promise.reject(new Error('it was not to be opened'))
  const examined = examineStore({ config, inspect: async () => ({ written: undefined, known: 2 }), open })
  await t.rejects(examined, { message: /^file: .*plain cannot be written \(/, exit: 1 })
})

t.test(
  'a file that was truncated or emptied is reported by check, migrate and serve alike, and ends none by a signal',
  async t => {
    for (const part of [0, 0.5]) {
      const cwd = t.testdir({ 'gateway.yaml': yaml('{ type: file, path: ./data }') })
      await run(['store', 'migrate'], { cwd, env: quiet })
      const file = join(cwd, 'data/store/data.mdb')
      truncateSync(file, Math.floor((statSync(file).size / PAGE) * part) * PAGE)
      for (const command of [
        ['store', 'check'],
        ['store', 'migrate'],
        ['serve', 'gateway.yaml', '--port', '0'],
      ]) {
        const { code, signal, stderr } = await run(command, { cwd, env: quiet })
        t.match({ code, signal }, { code: Number, signal: null }, command.join(' '))
        t.not(code, 0)
        t.match(
          stderr,
          /data\.mdb is (empty|truncated|not a store).*restore it from a backup, or move the whole folder away/,
        )
      }
    }
  },
)

t.test('a memory store has nothing to migrate', async t => {
  const cwd = t.testdir({ 'gateway.yaml': yaml('{ type: memory }') })
  t.match(await run(['store', 'check'], { cwd, env: quiet }), { code: 0, stdout: 'memory: a record was written' })
  t.match(await run(['store', 'migrate'], { cwd, env: quiet }), { code: 0, stdout: 'memory: has no schema' })
})

t.test('redis and postgres are checked and migrated', { skip: withoutRedis || withoutPostgres }, async t => {
  const redis = await startRedis(t, ['--maxmemory-policy', 'allkeys-lru'])
  const postgres = await startPostgres(t)
  for (const config of [redisConfig('./data', redis.port), postgresConfig('./data', postgres.port)]) {
    const cwd = t.testdir({ 'gateway.yaml': yaml(storeYaml(config)) })
    const command = async (name: string) => run(['store', name], { cwd, env: quiet })
    t.match(await command('check'), { code: 0, stdout: `${config.type}: empty` })
    const schema = config.type === 'postgres' ? 2 : 1
    t.match(await command('migrate'), { code: 0, stdout: `${config.type}: from nothing to schema ${schema}` })
    const checked = await command('check')
    t.match(checked, { code: 0, stdout: `${config.type}: schema ${schema}, a record was written` })
    if (config.type === 'redis') t.match(checked.stderr, /drops keys .*allkeys-lru.*set it to noeviction/)
  }
})

t.test('a missing store is reported in one line, and exits 1', async t => {
  const port = await freePort()
  for (const config of [redisConfig('./data', port), postgresConfig('./data', port)]) {
    const cwd = t.testdir({ 'gateway.yaml': yaml(storeYaml(config)) })
    const { code, stdout, stderr } = await run(['store', 'check'], { cwd, env: quiet })
    t.equal(code, 1)
    t.equal(stdout, '')
    t.match(
      stderr,
      /error: the store at 127\.0\.0\.1:\d+\S* can(not be used|not be reached) \(.*ECONNREFUSED.*; check .*\n$/,
    )
  }
})

t.test('a password that is not set is named', async t => {
  const cwd = t.testdir({
    'gateway.yaml': yaml('{ type: redis, hosts: [localhost], password: { env: REDIS_PASSWORD } }'),
  })
  const { code, stderr } = await run(['store', 'check'], { cwd, env: quiet })
  t.equal(code, 1)
  t.match(stderr, 'error: the store cannot be used: REDIS_PASSWORD is not set')
})

t.test('store check and migrate say the same with --json', async t => {
  const cwd = t.testdir({ 'gateway.yaml': yaml('{ type: file, path: ./data }') })
  const json = async (...args: readonly string[]) =>
    JSON.parse((await run(['store', ...args, '--json'], { cwd, env: quiet })).stdout)
  t.match(await json('check'), { type: 'file', usable: true, known: Number })
  t.match(await json('migrate', '-f', 'gateway.yaml'), { type: 'file', migrated: true })
  t.match(await json('migrate'), { type: 'file', migrated: false })
  t.match(await json('check'), { type: 'file', usable: true, milliseconds: Number })
})
