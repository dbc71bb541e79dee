import { setImmediate as turn } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import t, { type Test } from 'tap'
import { type Answered, ask, awayStage, nothingLost, type Process, soon, taken } from '../helpers/away-stage.js'
import { childrenOf } from '../helpers/children.js'
import { postgresConfig, redisConfig, storeYaml, temporary } from '../helpers/store-kinds.js'
import { type StoreServer, startPostgres, startRedis, withoutPostgres, withoutRedis } from '../helpers/store-servers.js'
import { FILM } from '../helpers/task-upstream.js'

// What becomes of tasks while the server that they are kept on cannot be used: two gateways on one server, which is broken
// in one way after the other while tasks are under way. What the upstreams saw is compared with what the store says.

t.setTimeout(240_000)

/** How long a call of the store may take, milliseconds. */
const TIMEOUT = 1500

interface Fault {
  readonly name: string
  /** Whether what is known can be read meanwhile. */
  readonly reads?: true
  /** Breaks the server, and gives what mends it. */
  readonly strike: (server: StoreServer) => Promise<() => Promise<unknown>>
}

async function redisSays(server: StoreServer, ...words: readonly [string, ...string[]]): Promise<unknown> {
  const admin = new Redis(server.port, '127.0.0.1', { enableReadyCheck: false })
  try {
    return await admin.call(...words)
  } finally {
    admin.disconnect()
  }
}

async function postgresClient(server: StoreServer): Promise<pg.Client> {
  const client = new pg.Client({ host: '127.0.0.1', port: server.port, user: 'gateway', database: 'gateway' })
  client.on('error', () => undefined)
  await client.connect()
  return client
}

const killed: Fault = {
  name: 'F-S1 F-S4 F-S5 killed, and started again',
  strike: async server => {
    await server.kill()
    return () => server.restart()
  },
}

const REDIS: readonly Fault[] = [
  killed,
  {
    name: 'F-S2 stopped, and continued',
    strike: async server => {
      server.process.kill('SIGSTOP')
      return async () => server.process.kill('SIGCONT')
    },
  },
  {
    name: 'F-S3 READONLY: made a replica, and a master again',
    reads: true,
    strike: async server => {
      await redisSays(server, 'REPLICAOF', '127.0.0.1', '1')
      return () => redisSays(server, 'REPLICAOF', 'NO', 'ONE')
    },
  },
  {
    name: 'F-S3 OOM: without memory for a while',
    reads: true,
    strike: async server => {
      await redisSays(server, 'CONFIG', 'SET', 'maxmemory', '1')
      return () => redisSays(server, 'CONFIG', 'SET', 'maxmemory', '0')
    },
  },
  {
    name: 'F-S3 LOADING: slow to read its data when it starts again',
    strike: async server => {
      // It looks up every thousand keys.
      const admin = new Redis(server.port, '127.0.0.1')
      const filler = admin.pipeline()
      for (let n = 0; n < 20_000; n++) filler.set(`filler:${n}`, 'x')
      await filler.exec()
      admin.disconnect()
      await server.restart()
      return () => redisSays(server, 'CONFIG', 'SET', 'key-load-delay', '0')
    },
  },
]

const POSTGRES: readonly Fault[] = [
  killed,
  {
    name: 'F-S4 stopped, and continued',
    strike: async server => {
      const pid = server.process.pid ?? 0
      const children = childrenOf(pid)
      for (const one of [pid, ...children]) process.kill(one, 'SIGSTOP')
      return async () => {
        for (const one of [pid, ...children]) process.kill(one, 'SIGCONT')
      }
    },
  },
  {
    name: 'F-S4 slow: every statement waits for a lock, and so does whoever wants a connection',
    strike: async server => {
      const client = await postgresClient(server)
      await client.query('BEGIN')
      await client.query('LOCK TABLE gateway.records IN ACCESS EXCLUSIVE MODE')
      return () => client.end()
    },
  },
  {
    name: 'F-S4 takes no writes for a while',
    reads: true,
    strike: async server => {
      const set = async (what: string): Promise<void> => {
        const client = await postgresClient(server)
        await client.query(`ALTER SYSTEM SET default_transaction_read_only = ${what}`)
        await client.query('SELECT pg_reload_conf()')
        await client.end()
      }
      await set('on')
      return () => set('off')
    },
  },
]

function awayOn(
  type: string,
  faults: readonly Fault[],
  skip: string | false,
  open: (t: Test) => Promise<Opened>,
): void {
  t.test(`tasks on ${type}`, { skip }, async t => {
    const { server, store } = await open(t)
    const stage = await awayStage(t, store, 2)
    const { images, notifications, processes, polls, begin, finish, hold } = stage
    const [one, other] = processes as [Process, Process]
    const begun = new Map<string, string>()

    for (const [round, { name, reads, strike }] of faults.entries()) {
      t.test(name, async t => {
        const mine: string[] = []
        for (const [n, process] of [one, other, one].entries()) {
          const { status, json } = await begin(process, `${round}.${n}`)
          t.equal(status, 200, JSON.stringify(json))
          mine.push(json.id)
          begun.set(json.id, `${round}.${n}`)
        }
        const image = (await ask(other, '/mj/submit/imagine', { prompt: `${round}` })).json.result as string
        const held = hold(`${round}.held`)
        const holding = begin(one, `${round}.held`)
        await held.asked
        const last = stage.begun().length
        for (let id = last - 3; id < last; id++) await polls.find(poll => poll.id === `vid_${id}`)

        const mend = await strike(server)
        const submits = stage.begun().length + images.submits.length
        const refused = processes.flatMap(process => [
          begin(process, 'refused'),
          ask(process, '/mj/submit/imagine', { prompt: 'refused' }),
        ])
        for (const [n, answer] of (await Promise.all(refused)).entries()) {
          const error = n % 2 ? { description: /store/, result: null } : { error: { message: /store/ } }
          t.match(answer, { status: 503, wait: /\d/, json: error })
        }
        t.equal(stage.begun().length + images.submits.length, submits, 'nothing was begun without a record')
        const paths = [
          ...[`/v1/videos/${mine[0]}`, '/v1/videos', `/mj/task/${image}/fetch`],
          `/v1/videos/${mine[1]}/content`,
        ]
        const seen = paths.map(path => (reads ? soon(() => ask(other, path)) : ask(other, path)))
        for (const [n, answer] of (await Promise.all(seen)).entries()) {
          if (!reads) t.match(answer, { status: 503, wait: /\d/ }, `${paths[n]}`)
          else t.equal(answer.status, n === 3 ? 409 : 200, `${paths[n]}`)
        }
        t.equal((await ask(one, `/v1/videos/${mine[2]}`, undefined, 'DELETE')).status, 503)
        const chat = { model: 'chat', messages: [{ role: 'user', content: 'x' }] }
        t.equal((await ask(other, '/v1/chat/completions', chat)).status, 200)
        t.equal((await ask(one, '/readyz')).status, 200)
        finish()
        held.answer()
        await mend()

        const { status, json } = await holding
        t.equal(status, 200, 'what the upstream had in hand is a task')
        mine.push(json.id)
        begun.set(json.id, `${round}.held`)
        finish()
        for (const id of mine) await notifications.find(({ body }) => JSON.parse(body).data.id === id)
        for (const [n, id] of mine.entries()) {
          const { json } = await soon(() => ask(processes[n % 2] as Process, `/v1/videos/${id}`))
          t.match(json, { id, status: 'completed', prompt: begun.get(id) })
        }
        // Its place in the queue is gone before the server is broken again.
        for (const id of mine) await taken(processes, id)
        t.same((await ask(one, `/v1/videos/${mine[0]}/content`)).json, FILM)
        const drawn = (): Promise<Answered> => ask(one, `/mj/task/${image}/fetch`)
        while ((await soon(drawn)).json.status !== 'SUCCESS') await turn()
      })
    }

    t.test('F-S5 nothing was lost, and nothing done twice', async t => {
      await nothingLost(t, stage, begun)
      for (const { bin } of processes) {
        const reported: readonly string[] =
          bin.stderr.match(/(?<="msg":"the store )can(not be used|\sbe used again)/g) ?? []
        const twice = reported.filter((what, n) => what === 'cannot be used' && reported[n - 1] === what)
        t.same([reported.includes('cannot be used'), twice], [true, []], 'reported once, and not once for each request')
      }
    })
  })
}

interface Opened {
  readonly server: StoreServer
  readonly store: string
}

awayOn('redis', REDIS, withoutRedis, async t => {
  const server = await startRedis(t, ['--appendonly', 'yes', '--appendfsync', 'always', '--key-load-delay', '1000'])
  return { server, store: storeYaml(redisConfig(temporary(t), server.port, TIMEOUT)) }
})

awayOn('postgres', POSTGRES, withoutPostgres, async t => {
  const server = await startPostgres(t)
  const parts = { timeout: TIMEOUT, wait: TIMEOUT, pool: 4 }
  return { server, store: storeYaml(postgresConfig(temporary(t), server.port, parts)) }
})
