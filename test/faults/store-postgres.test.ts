import { readFileSync, writeFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import pg from 'pg'
import t from 'tap'
import { draft } from '../../src/contracts/store-stage.js'
import { Secret } from '../../src/core/secret.js'
import { StoreError } from '../../src/core/store.js'
import { openStore } from '../../src/runtime/stores.js'
import { PostgresStore } from '../../src/stores/postgres.js'
import { MIGRATIONS } from '../../src/stores/postgres-migrations.js'
import { childrenOf } from '../helpers/children.js'
import { attempt, spending, sums } from '../helpers/spenders.js'
import { standStill } from '../helpers/stand-still.js'
import { heard } from '../helpers/store-events.js'
import { postgresConfig } from '../helpers/store-kinds.js'
import { startPostgres, withoutPostgres } from '../helpers/store-servers.js'

t.setTimeout(300_000)

const lasting = (key: string) => draft(key, { created: Date.now(), expires: Date.now() + 3_600_000 })
const faultOf = async (call: Promise<unknown>): Promise<string> => {
  const error = await call.catch((cause: unknown) => cause)
  return error instanceof StoreError ? `${error.fault}: ${error.message}` : `no StoreError: ${String(error)}`
}

t.test('F-S4 and its kin', { skip: withoutPostgres }, async t => {
  const server = await startPostgres(t)
  const admin = async (): Promise<pg.Client> => {
    const client = new pg.Client({ host: '127.0.0.1', port: server.port, user: 'gateway', database: 'gateway' })
    client.on('error', () => undefined)
    await client.connect()
    return client
  }
  const reset = async (): Promise<void> => {
    const client = await admin()
    await client.query('DROP SCHEMA IF EXISTS gateway CASCADE')
    await client.end()
  }

  t.test('F-S4 a slow statement ends in time, and who waits for its connection does so only so long', async t => {
    await reset()
    const store = await openStore(postgresConfig('/', server.port, { pool: 1, timeout: 3000, wait: 1000 }))
    const locker = await admin()
    await locker.query('BEGIN')
    await locker.query('LOCK TABLE gateway.records IN ACCESS EXCLUSIVE MODE')
    const slow = faultOf(store.create(lasting('b')))
    t.match(await faultOf(store.get('things', 'ann', 'a')), /^unavailable: no connection .* was free within 1000 ms/)
    t.match(await slow, /^unavailable: .* did not answer in time/)
    await locker.query('ROLLBACK')
    await locker.end()
    t.ok(await store.create(lasting('a')), 'and the connection is of use again')
    await store.close()
  })

  t.test('F-S4 what the server undid to keep its order is tried again, and nothing else is', async t => {
    await reset()
    const store = await openStore(postgresConfig('/', server.port))
    const client = await admin()
    await client.query('SET search_path = gateway')
    await client.query('CREATE SEQUENCE tries')
    const fail = async (code: string): Promise<void> => {
      await client.query('ALTER SEQUENCE tries RESTART')
      await client.query(`CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF nextval('gateway.tries') < 4 THEN RAISE EXCEPTION 'by chance' USING ERRCODE = '${code}'; END IF; RETURN NEW;
      END $$`)
    }
    await fail('40001')
    await client.query('CREATE TRIGGER fail BEFORE INSERT ON records FOR EACH ROW EXECUTE FUNCTION fail()')
    t.ok(await store.create(lasting('a')))
    await fail('22000')
    t.match(await faultOf(store.create(lasting('b'))), /^unavailable: .* failed \(by chance\)/)
    t.equal((await client.query('SELECT last_value FROM tries')).rows[0].last_value, '1')
    await client.end()
    await store.close()
  })

  t.test('F-S4 a server that restarts is reported once, and what was stored is there afterwards', async t => {
    await reset()
    const { events, told } = heard()
    const store = await PostgresStore.open(postgresConfig('/', server.port), events)
    await store.create(lasting('a'))
    await server.kill()
    t.match(await faultOf(store.get('things', 'ann', 'a')), /^unavailable: /)
    for (let n = 0; n < 50; n++) t.match(await faultOf(store.get('things', 'ann', 'a')), /^unavailable: /)
    await server.restart()
    await told.find(line => line === 'up')
    t.ok(await store.get('things', 'ann', 'a'))
    t.same(told.items, ['down', 'up'])
    await store.close()
  })

  t.test('F-S4 a server that asks for a password is found again', async t => {
    await reset()
    const client = await admin()
    await client.query("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'a secret'")
    const { rows } = await client.query('SHOW hba_file')
    const [{ hba_file: file }] = rows as [{ hba_file: string }]
    writeFileSync(file, `host all guarded 127.0.0.1/32 scram-sha-256\n${readFileSync(file, 'utf8')}`)
    await client.query('SELECT pg_reload_conf()')
    await client.end()
    const config = { ...postgresConfig('/', server.port), user: 'guarded' }
    t.match(await faultOf(PostgresStore.open(config, heard().events)), /password/)
    const { events, told } = heard()
    const store = await PostgresStore.open({ ...config, password: new Secret('a secret') }, events)
    await server.kill()
    t.match(await faultOf(store.get('things', 'ann', 'a')), /^unavailable: /)
    await server.restart()
    await told.find(line => line === 'up')
    t.equal(await store.get('things', 'ann', 'a'), undefined)
    await store.close()
  })

  t.test('a connection to a server that is read-only is given up: the next one finds the primary', async t => {
    await reset()
    const store = await openStore(postgresConfig('/', server.port, { pool: 2 }))
    const createAtOnce = (...keys: string[]): Promise<PromiseSettledResult<unknown>[]> =>
      Promise.allSettled(keys.map(key => store.create(lasting(key))))
    await store.create(lasting('first'))
    const client = await admin()
    await client.query('ALTER DATABASE gateway SET default_transaction_read_only = on')
    const [old, fresh] = await createAtOnce('a', 'b')
    t.equal(old?.status, 'fulfilled')
    t.match(fresh, { reason: { message: /is read-only$/ } }, 'over a connection that is new')
    await client.query('ALTER DATABASE gateway RESET default_transaction_read_only')
    await client.end()
    const later = await createAtOnce('c', 'd')
    t.same(
      later.map(({ status }) => status),
      ['fulfilled', 'fulfilled'],
    )
    await store.close()
  })

  t.test('a server to which connecting takes long is found again within the time that calls wait', async t => {
    await reset()
    const { events, told } = heard()
    const store = await PostgresStore.open(postgresConfig('/', server.port), events)
    const client = await admin()
    await client.query("ALTER SYSTEM SET pre_auth_delay = '1s'")
    await client.end()
    await server.kill()
    t.match(await faultOf(store.get('things', 'ann', 'a')), /^unavailable: /)
    await server.restart()
    await told.find(line => line === 'up')
    t.equal(await store.get('things', 'ann', 'a'), undefined)
    await store.close()
    const last = await admin()
    await last.query('ALTER SYSTEM RESET pre_auth_delay')
    await last.query('SELECT pg_reload_conf()')
    await last.end()
  })

  t.test('F-S5 what was spent while it was away counts once, however often it is reported', async t => {
    await reset()
    const { events, told } = heard()
    const store = await PostgresStore.open(postgresConfig('/', server.port), events)
    const writers = Array.from({ length: 20 }, (_, n) => `w${n}`)
    for (const writer of writers) await store.accounts.commit(spending(writer, 1))
    // Killed while commits are under way: of some no one knows whether they happened.
    const first = writers.map(writer => attempt(store, spending(writer, 2)))
    await server.kill()
    await Promise.all(first)
    await faultOf(store.get('things', 'ann', 'a'))
    await server.restart()
    await told.find(line => line === 'up')
    await Promise.all([...writers, ...writers, 'never-held'].map(writer => attempt(store, spending(writer, 2))))
    t.same(await sums(store), { spent: 63, held: 0, entries: 63 })
    await store.close()
  })

  t.test('F-S5 a commit that was not answered in time counts once', async t => {
    await reset()
    const store = await openStore(postgresConfig('/', server.port, { timeout: 1000 }))
    await store.accounts.commit(spending('a', 1))
    const locker = await admin()
    await locker.query('BEGIN')
    await locker.query('LOCK TABLE gateway.ledger_days IN ACCESS EXCLUSIVE MODE')
    t.equal(await attempt(store, spending('a', 2)), 'failed')
    await locker.query('ROLLBACK')
    await locker.end()
    t.same(await sums(store), { spent: 0, held: 5, entries: 0 }, 'all of it was undone')
    await Promise.all(Array.from({ length: 5 }, () => store.accounts.commit(spending('a', 2))))
    t.same(await sums(store), { spent: 3, held: 0, entries: 3 })
    await store.close()
  })

  t.test('commits of the same accounts in any order never deadlock, nor do sweeps and dropped days', async t => {
    await reset()
    const stores = [
      await openStore(postgresConfig('/', server.port)),
      await openStore(postgresConfig('/', server.port)),
    ]
    const now = Date.now()
    const work = Array.from({ length: 120 }, async (_, n) => {
      const accounts = stores[n % 2]?.accounts
      const names = Array.from({ length: 12 }, (_, at) => `account ${(at * (n % 11) + 3 * n) % 13}`)
      const leases = names.map(account => ({
        ...{ account, lease: `w${n}`, bound: 1e6, spend: 1, hold: n % 3, until: now + (n % 5) },
        expires: now + (n % 7 === 0 ? 5 : 3_600_000),
      }))
      const days = n % 2 ? ['2027-01-15', '2027-01-16'] : ['2027-01-16', '2027-01-15']
      const entries = days.map(day => ({ day, value: Buffer.from('{}') }))
      await accounts?.commit({ writer: `w${n}`, number: 1, remembered: now, now: now + (n % 10), leases, entries })
      if (n % 10 === 0) await stores[n % 2]?.sweep(now + 10, 50)
      if (n % 30 === 0) await accounts?.dropDay('2027-01-15')
    })
    await Promise.all(work)
    for (const store of stores) await store.close()
    const client = await admin()
    const { rows } = await client.query("SELECT deadlocks FROM pg_stat_database WHERE datname = 'gateway'")
    t.same(rows, [{ deadlocks: '0' }])
    await client.end()
  })

  t.test('F-S4 a server that hangs is away until it answers', { skip: process.platform !== 'linux' }, async t => {
    await reset()
    const { events, told } = heard()
    const store = await PostgresStore.open(postgresConfig('/', server.port, { timeout: 1000, wait: 1000 }), events)
    await store.create(lasting('a'))
    const pid = server.process.pid ?? 0
    const children = childrenOf(pid)
    for (const one of [pid, ...children]) process.kill(one, 'SIGSTOP')
    const faults: string[] = []
    for (; told.items.length === 0 && faults.length < 100; await setImmediate()) {
      faults.push(await faultOf(store.get('things', 'ann', 'a')))
    }
    t.match(faults[0], /^unavailable: /)
    t.match(await faultOf(store.get('things', 'ann', 'a')), /^unavailable: /)
    for (const one of [pid, ...children]) process.kill(one, 'SIGCONT')
    await told.find(line => line === 'up')
    t.ok(await store.get('things', 'ann', 'a'))
    await store.close()
  })

  t.test('F-S4 a process that stood still itself finds its answer', async t => {
    await reset()
    const { events, told } = heard()
    const store = await PostgresStore.open(postgresConfig('/', server.port, { timeout: 1000, wait: 1000 }), events)
    await store.create(lasting('a'))
    const call = store.get('things', 'ann', 'a')
    // The call is on its way once its connection has been handed over.
    await setImmediate()
    standStill(2000)
    t.ok(await call)
    t.same(told.items, [])
    await store.close()
  })

  t.test('F-S4 a process that stood still while connections were made finds its answers', async t => {
    await reset()
    const { events, told } = heard()
    const open = (pool: number): Promise<PostgresStore> =>
      PostgresStore.open(postgresConfig('/', server.port, { timeout: 1000, wait: 1000, pool }), events)
    const first = await open(1)
    await first.create(lasting('a'))
    for (const pool of [1, 4]) {
      const store = await open(pool)
      const calls = Array.from({ length: 4 }, (_, n) => store.create(lasting(`${pool}-${n}`)))
      await setImmediate()
      standStill(1500)
      t.equal((await Promise.all(calls)).filter(Boolean).length, calls.length)
      await store.close()
    }
    t.same(told.items, [])
    await first.close()
  })

  t.test('F-S8 several that start at once migrate once', async t => {
    await reset()
    const stores = await Promise.all(
      Array.from({ length: 6 }, () => openStore(postgresConfig('/', server.port, { pool: 2 }))),
    )
    for (const [n, store] of stores.entries()) t.ok(await store.create(lasting(`k${n}`)))
    t.equal((await stores[0]?.list('things', 'ann', { order: 'ascending', limit: 10 }))?.length, 6)
    for (const store of stores) await store.close()
  })

  t.test('F-S8 tables of the first version are brought to this one', async t => {
    await reset()
    const client = await admin()
    await client.query('CREATE SCHEMA gateway')
    await client.query('SET search_path = gateway')
    for (const command of MIGRATIONS[0] ?? []) await client.query(command)
    await client.query('CREATE TABLE schema_version AS SELECT 1 AS version')
    const store = await openStore(postgresConfig('/', server.port))
    await store.accounts.commit(spending('a', 1))
    await store.accounts.commit(spending('a', 2))
    t.same(await sums(store), { spent: 3, held: 0, entries: 3 })
    t.ok(await store.create(lasting('a')))
    t.same((await client.query("SELECT to_regclass('counters') AS old")).rows, [{ old: null }])
    await client.end()
    await store.close()
  })

  t.test('F-S8 a schema of a newer version is left alone', async t => {
    await reset()
    await (await openStore(postgresConfig('/', server.port))).close()
    const client = await admin()
    await client.query('UPDATE gateway.schema_version SET version = 99')
    const message =
      /newer version \(schema 99; this one supports 2\); start the newer version, or choose another schema/
    await t.rejects(openStore(postgresConfig('/', server.port)), { name: 'StartError', message })
    t.equal((await client.query('SELECT version FROM gateway.schema_version')).rows[0].version, 99)
    await client.end()
  })

  t.test('a database that is not there is named', async t => {
    const open = openStore({ ...postgresConfig('/', server.port), database: 'nowhere' })
    await t.rejects(open, { name: 'StartError', message: /has no such database; check the section store/ })
  })
})
