// Operations a second of each driver of the store, as ratios to the file store, and the CPU that the server takes for one, which
// bounds what one server can do: node bench/store.mjs [--quick]
// Starts redis-server and PostgreSQL of its own where they are installed (build, and compile the tests, first).
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { openStore } from '../dist/runtime/stores.js'
import { cpu } from './processes.mjs'

const quick = process.argv.includes('--quick')
const COUNT = quick ? 200 : 5000
const AT_ONCE = 32
const HOUR = 3_600_000

const ends = []
const test = { teardown: end => ends.unshift(end), comment: () => undefined }
try {
  const servers = await import('../.test-build/test/helpers/store-servers.js')
  const { postgresConfig, redisConfig } = await import('../.test-build/test/helpers/store-kinds.js')
  const folder = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
  ends.push(() => rmSync(folder, { recursive: true, force: true }))
  const started = {}
  const configs = { memory: { type: 'memory', path: folder }, file: { type: 'file', path: folder } }
  if (servers.withoutRedis === false) {
    const server = await servers.startRedis(test, ['--appendonly', 'yes', '--appendfsync', 'always'])
    configs.redis = redisConfig(folder, server.port)
    started.redis = server.process
  }
  if (servers.withoutPostgres === false) {
    const server = await servers.startPostgres(test, { fsync: 'on' })
    configs.postgres = postgresConfig(folder, server.port)
    started.postgres = server.process
  }
  const results = {}
  for (const [name, config] of Object.entries(configs))
    results[name] = await measure(await openStore(config), started[name])
  report(results)
} finally {
  for (const end of ends) await end()
}

/** CPU of a process and of those that it has begun, microseconds. */
function cpuOfAll({ pid }) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').map(Number)
  return [pid, ...children.filter(child => child > 0)].reduce((sum, one) => sum + cpu({ pid: one }), 0)
}

/** Operations a second, by name, and the CPU of the server for each, microseconds. */
async function measure(store, server) {
  const now = Date.now()
  const value = Buffer.alloc(1024, 'v')
  const draft = n => ({
    namespace: 'tasks',
    owner: `o${n % 50}`,
    key: `k${n}`,
    created: now + n,
    expires: now + HOUR,
    due: now,
    value,
  })
  // What a gateway sends: settles what it spent, writes the entries of that, and renews its lease.
  const commit = (n, leases, entries, kind) => ({
    writer: `${kind}${n}`,
    number: 1,
    remembered: now + HOUR,
    now,
    leases: Array.from({ length: leases }, (_, at) => ({
      account: `key:k${(n + at) % 50} budget day`,
      expires: now + HOUR,
      bound: 1e12,
      lease: 'gateway',
      spend: 10,
      hold: 1000,
      until: now + 60_000,
    })),
    entries: Array.from({ length: entries }, () => ({ day: '2026-11-23', value: value.subarray(0, 400) })),
  })
  const rates = {}
  const run = async (name, act, count = COUNT) => {
    const [since, before] = [performance.now(), server && cpuOfAll(server)]
    let next = 0
    const work = async () => {
      while (next < count) await act(next++)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, work))
    const rate = (count / (performance.now() - since)) * 1000
    rates[name] = { rate, used: server && (cpuOfAll(server) - before) / count }
  }
  await run('create', n => store.create(draft(n)))
  await run('get', n => store.get('tasks', `o${n % 50}`, `k${n}`))
  await run('claim 10', () => store.claim('tasks', { now, until: now + 1000, limit: 10 }), COUNT / 10)
  await run('list 20', n => store.list('tasks', `o${n % 50}`, { order: 'descending', limit: 20 }), COUNT / 10)
  await run('1 lease', n => store.accounts.commit(commit(n, 1, 0, 'a')))
  await run('1+1 entry', n => store.accounts.commit(commit(n, 1, 1, 'b')))
  await run('10+20 entries', n => store.accounts.commit(commit(n, 10, 20, 'c')), COUNT / 10)
  await run('accounts read', n => store.accounts.read([`key:k${n % 50} budget day`], now))
  await store.close()
  return rates
}

function report(results) {
  const names = Object.keys(results)
  console.log(['operation'.padEnd(14), ...names.map(name => name.padStart(24))].join(''))
  for (const operation of Object.keys(results.file)) {
    const base = results.file[operation].rate
    const cells = names.map(name => {
      const { rate, used } = results[name][operation]
      const ofServer = used === undefined ? '' : ` ${Math.round(used)} µs`
      return `${Math.round(rate)}/s ${(rate / base).toFixed(2)}x${ofServer}`.padStart(24)
    })
    console.log([operation.padEnd(14), ...cells].join(''))
  }
}
