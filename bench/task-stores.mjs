// The drivers of the store that are measured: each makes places of its own, empty ones.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { postgresConfig, redisConfig, storeYaml } from '../.test-build/test/helpers/store-kinds.js'
import { startPostgres, startRedis, withoutPostgres, withoutRedis } from '../.test-build/test/helpers/store-servers.js'

/**
 * `test`: takes what should be done at the end. Each driver is { name, atOnce, make, copy }: how much is sent to it at a
 * time while it is filled, what makes a place, as { config, yaml }, and for one that takes them slowly what makes many
 * tasks of few. `durable`: a server has written what it confirms; it need not where that is not measured.
 */
export async function stores(test, only) {
  let made = 0
  const folder = () => {
    const path = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
    test.teardown(() => rmSync(path, { recursive: true, force: true }))
    return path
  }
  const place = config => ({ config, yaml: storeYaml(config) })
  const servers = start => {
    const running = new Map()
    return async ({ durable = false } = {}) => {
      if (!running.has(durable)) running.set(durable, start(durable))
      return (await running.get(durable)).port
    }
  }
  const redis = servers(durable => startRedis(test, durable ? ['--appendonly', 'yes', '--appendfsync', 'always'] : []))
  const postgres = servers(durable =>
    startPostgres(test, { fsync: durable ? 'on' : 'off', shared_buffers: '128MB', max_wal_size: '4GB' }),
  )
  const drivers = [
    { name: 'memory', atOnce: 1, make: async () => ({ yaml: '{ type: memory }' }) },
    { name: 'file', atOnce: 2000, make: async () => place({ type: 'file', path: folder() }) },
  ]
  if (withoutRedis === false) {
    const make = async how => place({ ...redisConfig(folder(), await redis(how)), prefix: `bench${++made}` })
    drivers.push({ name: 'redis', atOnce: 500, make })
  } else console.log('SKIPPED: redis-server is not installed')
  if (withoutPostgres === false) {
    const make = async how => place({ ...postgresConfig(folder(), await postgres(how)), schema: `bench${++made}` })
    drivers.push({ name: 'postgres', atOnce: 32, make, copy })
  } else console.log('SKIPPED: PostgreSQL is not installed')
  return drivers.filter(({ name }) => only === undefined || name === only)
}

/** So many copies of each task, all of them with ids of their own; due ones a minute apart at most. */
async function copy({ host, port, database, user, schema }, times) {
  const client = new pg.Client({ host, port, database, user })
  await client.connect()
  await client.query(`SET search_path = ${schema}`)
  await client.query(
    `INSERT INTO records
    SELECT namespace, owner, name, created - number % 600000, expires, due + number % 60000, version, fence,
      convert_to(replace(convert_from(value, 'UTF8'), key, name), 'UTF8')
    FROM records, generate_series(1, $1::int) number, LATERAL (SELECT 'task_' || md5(key || number) AS name) names`,
    [times],
  )
  await client.query('ANALYZE records')
  await client.end()
}
