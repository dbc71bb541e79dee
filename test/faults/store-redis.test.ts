import { setImmediate } from 'node:timers/promises'
import { Redis } from 'ioredis'
import t, { type Test } from 'tap'
import { chunks } from '../../src/contracts/store-blobs.js'
import { draft } from '../../src/contracts/store-stage.js'
import { type Store, StoreError } from '../../src/core/store.js'
import { openStore } from '../../src/runtime/stores.js'
import { RedisStore } from '../../src/stores/redis.js'
import { type Journal, withResolvers } from '../helpers/journal.js'
import { bulk, type Reply, startRespServer } from '../helpers/resp-server.js'
import { attempt, spending, sums } from '../helpers/spenders.js'
import { standStill } from '../helpers/stand-still.js'
import { heard } from '../helpers/store-events.js'
import { redisConfig } from '../helpers/store-kinds.js'
import { startRedis, withoutRedis } from '../helpers/store-servers.js'

t.setTimeout(300_000)

/** What a command may take before the server counts as late, milliseconds. */
const TIMEOUT = 1000
const PLACE = { namespace: 'films', owner: 'ann', key: 'film' }

const lasting = (key: string) => draft(key, { created: Date.now(), expires: Date.now() + 3_600_000 })
const get = (store: Store): Promise<unknown> => store.get('things', 'ann', 'a')
/** A store with the record that {@link get} asks for, and what its driver tells. */
async function stocked(t: Test, port: number, timeout: number): Promise<{ store: Store; told: Journal<string> }> {
  const { events, told } = heard()
  const store = await RedisStore.open(redisConfig('/', port, timeout), events)
  t.teardown(() => store.close())
  await store.create(lasting('a'))
  return { store, told }
}

const faultOf = async (call: Promise<unknown>): Promise<string> => {
  const error = await call.catch((cause: unknown) => cause)
  return error instanceof StoreError ? `${error.fault}: ${error.message}` : `no StoreError: ${String(error)}`
}

t.test(
  'F-S1 a server that was killed fails every call at once, is reported once, and is found again',
  { skip: withoutRedis },
  async t => {
    const server = await startRedis(t, ['--appendonly', 'yes', '--appendfsync', 'always'])
    const { store, told } = await stocked(t, server.port, 5000)
    await server.kill()
    await told.find(line => line === 'down')
    const faults = await Promise.all(Array.from({ length: 50 }, () => faultOf(get(store))))
    for (const fault of faults) t.match(fault, /^unavailable: the store at 127\.0\.0\.1:\d+ cannot be reached/)
    await server.restart()
    await told.find(line => line === 'up')
    t.ok(await get(store))
    t.same(told.items, ['down', 'up'])
  },
)

t.test(
  'F-S2 a server that hangs is late a few times, and away after that until it answers',
  { skip: withoutRedis },
  async t => {
    const server = await startRedis(t)
    const { store, told } = await stocked(t, server.port, TIMEOUT)
    server.process.kill('SIGSTOP')
    const faults: string[] = []
    for (; told.items.length === 0 && faults.length < 100; await setImmediate()) faults.push(await faultOf(get(store)))
    t.match(faults[0], /^unavailable: .* did not answer within 1000 ms/)
    t.ok(faults.length < 20, `it was late ${faults.length} times`)
    t.match(await faultOf(get(store)), /^unavailable: .* cannot be reached/)
    server.process.kill('SIGCONT')
    await told.find(line => line === 'up')
    t.same(told.items, ['down', 'up'])
  },
)

t.test(
  'F-S2 a process that stood still itself finds its answer, and does not take the server for one that hangs',
  { skip: withoutRedis },
  async t => {
    const server = await startRedis(t)
    const { store, told } = await stocked(t, server.port, TIMEOUT)
    for (let n = 0; n < 4; n++) {
      const calls = [get(store), get(store), get(store)]
      standStill(n === 0 ? 3000 : 2 * TIMEOUT)
      for (const found of await Promise.all(calls)) t.ok(found)
    }
    t.same(told.items, [])
  },
)

t.test(
  'F-S2 parallel calls of a process that is busy for a moment are not hints that the server hangs',
  { skip: withoutRedis },
  async t => {
    const server = await startRedis(t)
    const { store, told } = await stocked(t, server.port, TIMEOUT)
    for (let busy = TIMEOUT - 2; busy <= TIMEOUT + 22; busy += 4) {
      const calls = Array.from({ length: 10 }, () => get(store))
      standStill(busy)
      for (const found of await Promise.all(calls)) t.ok(found, `after ${busy} ms`)
      t.ok(await get(store), `after ${busy} ms`)
    }
    t.same(told.items, [])
  },
)

t.test(
  'F-S2 what waits in a line that moves is not late, however long the line is',
  { skip: withoutRedis },
  async t => {
    const server = await startRedis(t)
    const { store, told } = await stocked(t, server.port, TIMEOUT)
    const value = Buffer.alloc(2000)
    const drafts = Array.from({ length: 8000 }, (_, n) => ({ ...lasting(`many-${n}`), value }))
    t.equal((await Promise.all(drafts.map(one => store.create(one)))).filter(Boolean).length, drafts.length)
    t.same(told.items, [])
  },
)

t.test('F-S3 what a server refuses with is reported as what it means, and nothing breaks', async t => {
  let answer = ''
  const server = await startRespServer(
    t,
    handshake(() => answer),
  )
  const store = await RedisStore.open(redisConfig('/', server.port), heard().events)
  t.teardown(() => store.close())
  const errors: Readonly<Record<string, RegExp>> = {
    'OOM command not allowed when used memory > maxmemory': /^full: .* has no memory left/,
    'LOADING Redis is loading the dataset in memory': /^unavailable: .* is still loading/,
    'WRONGTYPE Operation against a key holding the wrong kind of value': /^unavailable: .* has a foreign value/,
    'MOVED 3999 127.0.0.1:6381': /^unavailable: .* cluster: true/,
    'CLUSTERDOWN The cluster is down': /^unavailable: .* cluster that is down/,
    'MISCONF Redis is configured to save RDB snapshots': /^unavailable: .* cannot save/,
    'NOAUTH Authentication required.': /^unavailable: .* requires a password/,
    'ERR something new': /^unavailable: .* failed \(ERR something new\)/,
  }
  for (const [error, told] of Object.entries(errors)) {
    answer = `-${error}\r\n`
    t.match(await faultOf(get(store)), told)
    t.match(await faultOf(store.create(lasting('a'))), told)
    t.match(await faultOf(store.accounts.read(['a'], Date.now())), told)
  }
})

t.test('a replica is known by its error within a script, before Redis 7 and since', async t => {
  const replica = "READONLY You can't write against a read only replica."
  const place = 'Error running script (call to f_ab12): @user_script:4: @user_script: 4:'
  for (const error of [`${replica} script: ab12, on @user_script:4.`, `ERR ${place} -${replica}`]) {
    const renewed = withResolvers<void>()
    let connections = 0
    let answer = ''
    const reply = handshake(() => answer)
    const server = await startRespServer(t, words => {
      // Each connection asks whether the server is loading, and the store's opening what of its memory.
      if (words[0] === 'info' && words.length === 1 && ++connections === 2) renewed.resolve()
      return reply(words)
    })
    const store = await RedisStore.open(redisConfig('/', server.port), heard().events)
    t.teardown(() => store.close())
    answer = `-${error}\r\n`
    t.match(await faultOf(store.create(lasting('a'))), /^unavailable: .* is now a replica, and accepts no writes/)
    await renewed.promise
  }
})

t.test('pieces of a blob that may get its name later are kept, and others are removed', async t => {
  const full = "-OOM command not allowed when used memory > 'maxmemory'.\r\n"
  const opening = handshake(() => '')
  for (const [named, fault, isRemoved] of [
    [undefined, /^unavailable: .* did not answer within/, false],
    [full, /^full: /, true],
  ] as const) {
    const asked = new Set<string>()
    const server = await startRespServer(t, words => {
      const [name = ''] = words
      asked.add(name)
      return name === 'evalsha' ? named : name === 'unlink' ? ':1\r\n' : opening(words)
    })
    const store = await RedisStore.open(redisConfig('/', server.port, TIMEOUT), heard().events)
    t.teardown(() => store.close())
    const keep = { expires: Date.now() + 60_000, limit: 100 }
    t.match(await faultOf(store.blobs.put(PLACE, chunks(10, 10), keep)), fault)
    t.equal(asked.has('unlink'), isRemoved)
  }
})

t.test('F-S3 answers of a wrong form are nothing, or an error, and never a crash', async t => {
  let answer = ''
  const server = await startRespServer(
    t,
    handshake(() => answer),
  )
  const store = await RedisStore.open(redisConfig('/', server.port), heard().events)
  t.teardown(() => store.close())
  for (const odd of [
    ':7\r\n',
    '$-1\r\n',
    '*-1\r\n',
    '*0\r\n',
    '*1\r\n*0\r\n',
    bulk('x'),
    '*2\r\n$1\r\nx\r\n:3\r\n',
    '+OK\r\n',
  ]) {
    answer = odd
    t.equal(await get(store), undefined, JSON.stringify(odd))
    const strange = 'unavailable: the store answered a commit with something else'
    for (const [call, found] of [
      [store.list('things', 'ann', { order: 'ascending', limit: 3 }), []],
      [store.create(lasting('a')), undefined],
      [store.claim('things', { now: 1, until: 2, limit: 3 }), []],
      [faultOf(store.accounts.commit(spending('a', 1))), strange],
      [faultOf(store.accounts.read(['a'], 1)), strange],
      [store.accounts.entries('2027-01-15', { after: 0, limit: 3 }), []],
      [store.accounts.days(), []],
      [store.accounts.dropDay('2027-01-15'), undefined],
      [store.blobs.get(PLACE), undefined],
      [store.sweep(1, 3), 0],
    ] as const)
      t.same(await call, found, JSON.stringify(odd))
  }
})

t.test(
  'F-S3 a server that became a replica, and one without memory, fail writes and recover',
  { skip: withoutRedis },
  async t => {
    const server = await startRedis(t)
    const { events, told } = heard()
    const store = await openStore(redisConfig('/', server.port), events)
    t.teardown(() => store.close())
    const admin = new Redis(server.port, '127.0.0.1')
    t.teardown(() => admin.disconnect())
    await store.create(lasting('a'))
    await admin.config('SET', 'maxmemory', '1')
    t.match(await faultOf(store.create(lasting('b'))), /^full: .* has no memory left/)
    t.ok(await get(store), 'reading continues')
    await admin.config('SET', 'maxmemory', '0')
    t.ok(await store.create(lasting('b')))
    await admin.call('REPLICAOF', '127.0.0.1', '1')
    t.match(await faultOf(store.create(lasting('c'))), /^unavailable: .* is now a replica/)
    await admin.call('REPLICAOF', 'NO', 'ONE')
    // It reconnects after such an answer: the next connection may find the server that took over.
    while ((await store.create(lasting('c')).catch(() => undefined)) === undefined) await setImmediate()
    t.ok(await store.get('things', 'ann', 'c'))
    t.same(told.items, [], 'it was never away')
  },
)

t.test(
  'F-S3 what the server evicted is not there, and its places in lists are forgotten',
  { skip: withoutRedis },
  async t => {
    const server = await startRedis(t)
    const store = await openStore(redisConfig('/', server.port))
    t.teardown(() => store.close())
    const admin = new Redis(server.port, '127.0.0.1')
    t.teardown(() => admin.disconnect())
    for (const key of ['a', 'b', 'c']) await store.create({ ...lasting(key), due: Date.now() })
    const [name] = await admin.keys('*r:things ann b')
    await admin.del(name ?? '')
    t.equal(await store.get('things', 'ann', 'b'), undefined)
    const claimed = await store.claim('things', { now: Date.now(), until: Date.now() + 60_000, limit: 10 })
    t.same(claimed.map(({ key }) => key).sort(), ['a', 'c'])
    const listed = await store.list('things', 'ann', { order: 'ascending', limit: 10 })
    t.equal(listed.length, 2)
    const [order] = await admin.keys('*o:things')
    t.equal(await admin.zcard(order ?? ''), 2)
    t.ok(await store.create(lasting('b')))
  },
)

t.test(
  'F-S5 what was spent while the server was away counts once, however often it is reported',
  { skip: withoutRedis },
  async t => {
    const server = await startRedis(t, ['--appendonly', 'yes', '--appendfsync', 'always'])
    const { events, told } = heard()
    const store = await RedisStore.open(redisConfig('/', server.port), events)
    t.teardown(() => store.close())
    const writers = Array.from({ length: 20 }, (_, n) => `w${n}`)
    for (const writer of writers) await store.accounts.commit(spending(writer, 1))
    // Killed while commits are under way: of some no one knows whether they happened.
    const first = writers.map(writer => attempt(store, spending(writer, 2)))
    await server.kill()
    await Promise.all(first)
    await server.restart()
    await told.find(line => line === 'up')
    await Promise.all([...writers, ...writers, 'never-held'].map(writer => attempt(store, spending(writer, 2))))
    t.same(await sums(store), { spent: 63, held: 0, entries: 63 })
  },
)

t.test('F-S5 a commit that was not answered in time counts once', { skip: withoutRedis }, async t => {
  const server = await startRedis(t)
  const { store } = await stocked(t, server.port, TIMEOUT)
  await store.accounts.commit(spending('a', 1))
  for (let round = 0; round < 3; round++) {
    server.process.kill('SIGSTOP')
    const writers = [`a${round}`, `b${round}`]
    const late = await Promise.all(writers.map(writer => attempt(store, spending(writer, 2))))
    t.same(late, ['failed', 'failed'])
    server.process.kill('SIGCONT')
    for (const writer of writers) while ((await attempt(store, spending(writer, 2))) === 'failed') await setImmediate()
  }
  t.same(await sums(store), { spent: 18, held: 5, entries: 18 })
})

t.test('F-S3 a commit that the server cannot take wholly changes nothing', { skip: withoutRedis }, async t => {
  const server = await startRedis(t)
  const store = await openStore(redisConfig('/', server.port))
  t.teardown(() => store.close())
  const admin = new Redis(server.port, '127.0.0.1')
  t.teardown(() => admin.disconnect())
  await store.accounts.commit(spending('a', 1))
  await admin.config('SET', 'maxmemory', '1')
  t.match(await faultOf(store.accounts.commit(spending('a', 2))), /^full: .* has no memory left/)
  await admin.config('SET', 'maxmemory', '0')
  t.same(await sums(store), { spent: 0, held: 5, entries: 0 })
  for (const key of ['l:2027-01-15', 'd', 'e:key:ann budget total', 'w:a']) {
    const name = `{gateway:a}${key}`
    const kept = await admin.dumpBuffer(name)
    await admin.del(name)
    await admin.hset(name, 'mine', 'own')
    t.match(await faultOf(store.accounts.commit(spending('a', 2))), /^unavailable: .* foreign value/, key)
    await admin.del(name)
    if (kept !== null) await admin.restore(name, 0, kept)
    t.same(await sums(store), { spent: 0, held: 5, entries: 0 }, key)
  }
  await store.accounts.commit(spending('a', 2))
  t.same(await sums(store), { spent: 3, held: 0, entries: 3 })
})

t.test('accounts, leases and writers expire by the server’s own clock', { skip: withoutRedis }, async t => {
  const server = await startRedis(t)
  const store = await openStore(redisConfig('/', server.port))
  t.teardown(() => store.close())
  const admin = new Redis(server.port, '127.0.0.1')
  t.teardown(() => admin.disconnect())
  await store.accounts.commit(spending('a', 1))
  await store.accounts.commit(spending('a', 2))
  for (const key of await admin.keys('{gateway:a}*')) {
    const isLasting = /\}(d|l:.*)$/.test(key)
    t.equal((await admin.pttl(key)) > 0, !isLasting, key)
  }
})

t.test('F-S8 a store of a newer version is left alone', { skip: withoutRedis }, async t => {
  const server = await startRedis(t)
  const admin = new Redis(server.port, '127.0.0.1')
  t.teardown(() => admin.disconnect())
  await admin.set('{gateway}schema', '7')
  const message = /newer version \(schema 7; this one supports 1\); start the newer version, or choose another prefix/
  await t.rejects(openStore(redisConfig('/', server.port)), { name: 'StartError', message })
  await admin.set('{gateway}schema', 'my own')
  await t.rejects(openStore(redisConfig('/', server.port)), {
    name: 'StartError',
    message: /is not the schema of a store/,
  })
  t.same(await admin.keys('*'), ['{gateway}schema'])
})

t.test('a wrong password is reported, and not repeated', { skip: withoutRedis }, async t => {
  const server = await startRedis(t, ['--requirepass', 'right'])
  const { Secret } = await import('../../src/core/secret.js')
  for (const password of [undefined, new Secret('wrong-password')]) {
    const config = { ...redisConfig('/', server.port), ...(password && { password }) }
    const error = await openStore(config).catch((cause: unknown) => cause)
    t.match(error, { name: 'StartError', message: /cannot be used \((NOAUTH|WRONGPASS)/ })
    t.notMatch(String(error), 'wrong-password')
  }
  const store = await openStore({ ...redisConfig('/', server.port), password: new Secret('right') })
  t.ok(await store.create(lasting('a')))
  await store.close()
})

/** Lets a client in, and gives everything else the answer of the moment. */
function handshake(answer: () => string): Reply {
  return ([name, second]) => {
    if (name === 'info') return bulk('loading:0\r\nmaxmemory_policy:noeviction\r\n')
    if (name === 'set' && answer() === '') return '+OK\r\n'
    if (name === 'get' && second?.endsWith('schema') === true) return bulk('1')
    return answer()
  }
}
