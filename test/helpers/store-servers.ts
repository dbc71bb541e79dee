import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'

type Test = Pick<typeof t, 'teardown' | 'comment'>

/** A real server of a test's own, on a port of its own, in a folder of its own. */
export interface StoreServer {
  readonly port: number
  readonly process: ChildProcess
  /** Ends it as a crash would. */
  kill(): Promise<void>
  /** Starts it again where it stood; resolves when it takes connections. */
  restart(): Promise<void>
}

/** Shared with the scripts: ports that the system gives to no one else. */
const freePorts: { readonly freePort: () => Promise<number> } = await import(
  pathToFileURL(join(packageRoot(), 'scripts/free-port.mjs')).href
)
export const { freePort } = freePorts

/** How long a server may take to come up, milliseconds. */
const STARTING = 30_000

const REDIS = find('redis-server', [])
const POSTGRES = find('postgres', versionsOf('/usr/lib/postgresql'))

const PGBOUNCER = find('pgbouncer', ['/usr/sbin'])

/** The reason why tests with that server are skipped here, or false. In CI they never are. */
export const withoutRedis = skipping(REDIS, 'redis-server')
export const withoutPostgres = skipping(POSTGRES, 'postgres')
export const withoutPgbouncer = skipping(PGBOUNCER, 'pgbouncer')

/**
 * Starts redis-server. Nothing is saved unless the arguments say so. With lines of configuration they are put into a file
 * that the server may rewrite, as a sentinel does.
 */
export async function startRedis(
  test: Test,
  args: readonly string[] = [],
  lines: readonly string[] = [],
): Promise<StoreServer> {
  const folder = temporary(test, 'redis')
  const file = join(folder, 'redis.conf')
  if (lines.length > 0) writeFileSync(file, `${lines.join('\n')}\n`)
  const saving = lines.length > 0 ? [] : ['--save', '']
  return launch(test, port => ({
    command: REDIS ?? 'redis-server',
    args: [
      ...(lines.length > 0 ? [file] : []),
      ...['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, ...saving, '--daemonize', 'no', ...args],
    ],
  }))
}

/** Makes a cluster of PostgreSQL and starts it; the superuser is `gateway`, with a password, and the database too. */
export async function startPostgres(test: Test, settings: Readonly<Record<string, string>> = {}): Promise<StoreServer> {
  const folder = temporary(test, 'postgres')
  const as = unprivileged(folder)
  const bin = dirname(realpathSync(POSTGRES ?? 'postgres'))
  const data = join(folder, 'data')
  const options = { stdio: 'ignore', ...as } as const
  execFileSync(join(bin, 'initdb'), ['-D', data, '-U', 'gateway', '-A', 'trust', '--no-sync', '-E', 'UTF8'], options)
  const set = { fsync: 'off', shared_buffers: '16MB', max_connections: '40', ...settings }
  const server = await launch(test, port => ({
    command: join(bin, 'postgres'),
    args: [
      ...['-D', data, '-p', `${port}`, '-k', folder, '-c', 'listen_addresses=127.0.0.1'],
      ...Object.entries(set).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    as,
    stop: 'SIGQUIT',
  }))
  const createdb = ['-h', '127.0.0.1', '-p', `${server.port}`, '-U', 'gateway', 'gateway']
  // It listens before it lets anyone in.
  for (let tries = 1; ; tries++) {
    try {
      execFileSync(join(bin, 'createdb'), createdb, options)
      break
    } catch (error) {
      if (tries === 100) throw error
      await new Promise(resolve => setTimeout(resolve, 100))
    }
  }
  return server
}

/** Starts PgBouncer in session mode before a PostgreSQL of {@link startPostgres}. */
export async function startPgbouncer(test: Test, { port: target }: StoreServer): Promise<StoreServer> {
  const folder = temporary(test, 'pgbouncer')
  const as = unprivileged(folder)
  const file = join(folder, 'pgbouncer.ini')
  return launch(test, port => {
    const lines = [
      '[databases]',
      `gateway = host=127.0.0.1 port=${target} dbname=gateway user=gateway`,
      '[pgbouncer]',
      'pool_mode = session',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      'max_client_conn = 200',
      'default_pool_size = 30',
    ]
    writeFileSync(file, `${lines.join('\n')}\n`)
    if (as.uid !== undefined && as.gid !== undefined) chownSync(file, as.uid, as.gid)
    return { command: PGBOUNCER ?? 'pgbouncer', args: [file], as }
  })
}

interface Launch {
  readonly command: string
  readonly args: readonly string[]
  readonly as?: { readonly uid?: number; readonly gid?: number }
  /** What ends it at once, with all of its own processes. */
  readonly stop?: NodeJS.Signals
}

export async function launch(test: Test, plan: (port: number) => Launch): Promise<StoreServer> {
  const port = await freePort()
  const { command, args, as = {}, stop = 'SIGKILL' } = plan(port)
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(command, [...args], { stdio: 'ignore', ...as })
    await answers(child, port)
    return child
  }
  let child = await start()
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGCONT')
    child.kill(stop)
    await ended
  }
  test.teardown(end)
  return {
    port,
    get process() {
      return child
    },
    kill: end,
    restart: async () => {
      await end()
      child = await start()
    },
  }
}

/** Until something listens there; a server that ends meanwhile is an error. */
async function answers(child: ChildProcess, port: number): Promise<void> {
  const until = performance.now() + STARTING
  while (performance.now() < until) {
    if (child.exitCode !== null) throw new Error(`${child.spawnfile} ended with code ${child.exitCode}`)
    if (await listens(port)) return
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  child.kill('SIGKILL')
  throw new Error(`${child.spawnfile} does not come up`)
}

async function listens(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const open = await new Promise<boolean>(resolve => {
    socket.once('connect', () => resolve(true))
    socket.once('error', () => resolve(false))
  })
  socket.destroy()
  return open
}

function temporary(test: Test, name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `gateway-${name}-`))
  test.teardown(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/** PostgreSQL refuses to run as the superuser of the machine; the folder is then given to no one. */
function unprivileged(folder: string): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {}
  const [uid, gid] = [65_534, 65_534]
  chownSync(folder, uid, gid)
  chmodSync(folder, 0o700)
  return { uid, gid }
}

export function find(name: string, further: readonly string[]): string | undefined {
  const folders = [...(process.env.PATH ?? '').split(delimiter), ...further]
  return folders.map(folder => join(folder, name)).find(existsSync)
}

function versionsOf(folder: string): string[] {
  if (!existsSync(folder)) return []
  const versions = readdirSync(folder).sort((a, b) => Number(b) - Number(a))
  return versions.map(version => join(folder, version, 'bin'))
}

export function skipping(found: string | undefined, name: string): string | false {
  return found !== undefined || process.env.CI === 'true' ? false : `there is no ${name} on this machine`
}
