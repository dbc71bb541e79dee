import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import t, { type Test } from 'tap'
import { heapSnapshot } from '../../src/admin/profiling.js'
import { packageRoot } from '../../src/core/package-root.js'
import { Reader } from '../../src/features/tail/reader.js'
import { run, start } from '../cli/bin.js'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { CALLER, startTestGateway } from '../helpers/gateway.js'
import { listening } from '../helpers/listening.js'
import { KEY, startHoldingUpstream, until, WorkingGateway, workersYaml } from '../helpers/workers.js'

t.setTimeout(120_000)

const BASE = `version: 1
${CALLER}
store: { type: memory }
upstreams: { sim: { kind: simulator } }
models: { "sim-*": sim }
`
const ENV = { GATEWAY_ADMIN_KEY: ADMIN_SECRET }
const HEADERS = { authorization: `Bearer ${ADMIN_SECRET}` }

async function serve(test: Test) {
  const { line, origin } = await adminLine()
  const gateway = await startTestGateway(test, `${BASE}${line}\n`, { env: ENV })
  return { gateway, origin, ask: adminOf(test, origin) }
}

t.test('gateway tail shows the requests of both workers that its filter wants, as they settle', async t => {
  const upstream = await startHoldingUpstream(t)
  const gateway = await WorkingGateway.start(t, workersYaml(upstream, ''))
  const env = { CALLER_KEY: KEY, ...ENV }
  const all = start(t, ['tail', '--json'], { cwd: gateway.folder, env })
  const failed = start(t, ['tail', '--status', '404'], { cwd: gateway.folder, env })
  const chosen = start(t, ['tail', '--key', 'someone'], { cwd: gateway.folder, env })
  const ids = (text: string): readonly string[] =>
    [...text.matchAll(/"msg":"request","id":"([^"]+)"/g)].map(([, id = '']) => id)
  /** Whose requests the first of them has shown. */
  const workers = (): ReadonlySet<unknown> => {
    const read = new Set(ids(all.stdout))
    const lines = gateway.logged('request').filter(({ id }) => read.has(String(id)))
    return new Set(lines.map(({ worker }) => worker))
  }
  const isRead = async (): Promise<boolean> => {
    // One connection after the other may always come to the same worker.
    await Promise.all(Array.from({ length: 8 }, () => gateway.chat()))
    await gateway.ask('POST', '/v1/chat/completions', { model: 'unknown', messages: [{ role: 'user', content: 'x' }] })
    return failed.stdout !== '' && workers().size === 2
  }
  await until(isRead)
  const logged = ids(gateway.bin.stderr).length
  for (let n = 0; n < 20; n++) await gateway.chat()
  await until(() => ids(gateway.bin.stderr).length >= logged + 20)
  const last = ids(gateway.bin.stderr).slice(-20)
  await until(() => last.every(id => all.stdout.includes(id)))
  t.equal(workers().size, 2, 'lines of each worker')
  t.match(failed.stdout, /404 POST \/v1\/chat\/completions {2}caller {2}unknown {2}\d+ ms {2}not_found|404 /)
  t.notMatch(failed.stdout, ' 200 ')
  t.equal(chosen.stdout, '')
})

t.test('gateway tail fails if the gateway ends the connection, but not once it has shown enough', async t => {
  const { gateway } = await serve(t)
  const event = `event: request\ndata: ${JSON.stringify({ time: '', status: 200, method: 'GET', total_ms: 1 })}\n\n`
  const admin = createServer((_request, response) => void response.end(event))
  const origin = `http://127.0.0.1:${await listening(t, admin)}`
  const tail = (...more: string[]) =>
    run(['tail', '--admin', origin, ...more], { cwd: gateway.folder, env: { ...ENV, CALLER_KEY: gateway.key } })
  t.match(await tail(), { code: 1, stdout: / 200 GET/, stderr: /the gateway has ended the connection/ })
  t.match(await tail('--limit', '1'), { code: 0, stderr: '' })
})

t.test('gateway tail ends well, and asks no more, when the reader of its output has gone', async t => {
  const { gateway } = await serve(t)
  const lines = new PassThrough()
  const event = `event: request\ndata: ${JSON.stringify({ time: '', status: 200, method: 'GET', total_ms: 1 })}\n\n`
  let hasLeft = false
  const admin = createServer((_request, response) => {
    lines.pipe(response.once('close', () => (hasLeft = true)))
    lines.write(event)
  })
  const origin = `http://127.0.0.1:${await listening(t, admin)}`
  const env = { ...ENV, CALLER_KEY: gateway.key }
  const bin = start(t, ['tail', '--admin', origin], { cwd: gateway.folder, env })
  await bin.until(/ 200 GET/)
  bin.child.stdout?.destroy()
  lines.write(event)
  t.match(await bin.ended, { code: 0, stderr: '' })
  await until(() => hasLeft)
})

t.test('a reader that does not read loses lines beyond a bound and gets their number', async t => {
  const reader = new Reader({}, () => undefined)
  for (let n = 0; n < 1005; n++) reader.add(`{"n":${n}}`)
  reader.lose(2)
  const text = String((await reader.next()).value)
  t.equal(text.match(/event: request/g)?.length, 1000)
  t.match(text, /event: lost\ndata: \{"lines":7\}\n\n$/)
  reader.add('{}')
  t.equal((await reader.next()).value, 'event: request\ndata: {}\n\n')
  await reader.return()
  t.same(await reader.next(), { done: true, value: undefined })
})

t.test('the tail refuses what it does not know, and more readers than it may have', async t => {
  const { origin, ask } = await serve(t)
  t.equal((await ask('GET', '/admin/tail?status=9')).status, 400)
  t.equal((await ask('GET', '/admin/tail?slow=x')).status, 400)
  t.equal((await ask('GET', '/admin/tail?upstream=x')).status, 400)
  t.equal((await fetch(`${origin}/admin/tail`)).status, 401)
  const readers = await Promise.all(
    Array.from({ length: 16 }, () => fetch(`${origin}/admin/tail`, { headers: HEADERS })),
  )
  t.equal((await fetch(`${origin}/admin/tail`, { headers: HEADERS })).status, 409)
  await readers[0]?.body?.cancel()
  await until(async () => {
    const answer = await fetch(`${origin}/admin/tail`, { headers: HEADERS })
    await answer.body?.cancel()
    return answer.status === 200
  })
  for (const reader of readers.slice(1)) await reader.body?.cancel()
})

t.test('a CPU profile and a heap snapshot are what tools read, one at a time and with the admin key alone', async t => {
  const { origin } = await serve(t)
  const post = (path: string, headers: Record<string, string> = HEADERS): Promise<Response> =>
    fetch(`${origin}/admin/debug/${path}`, { method: 'POST', headers })
  t.equal((await post('cpu-profile', {})).status, 401)
  t.equal((await post('cpu-profile?seconds=61')).status, 400)
  t.equal((await post('cpu-profile?worker=7')).status, 409)
  const profiling = post('cpu-profile?seconds=2')
  await until(async () => (await post('cpu-profile?seconds=1')).status === 409)
  const profile = (await (await profiling).json()) as { nodes: object[]; samples: number[] }
  t.ok(profile.nodes.length > 0 && profile.samples.length > 0)
  const snapshot = await post('heap-snapshot')
  t.equal(snapshot.headers.get('content-disposition'), 'attachment; filename="worker0.heapsnapshot"')
  const heap = (await snapshot.json()) as { snapshot: { node_count: number }; nodes: number[] }
  t.ok(heap.snapshot.node_count > 1000 && heap.nodes.length > heap.snapshot.node_count)
})

t.test('a CPU profile ends with its client', async t => {
  const { origin } = await serve(t)
  const post = async (seconds: number, signal?: AbortSignal): Promise<number> => {
    const path = `${origin}/admin/debug/cpu-profile?seconds=${seconds}`
    return (await fetch(path, { method: 'POST', headers: HEADERS, ...(signal && { signal }) })).status
  }
  const client = new AbortController()
  const gone = t.rejects(post(60, client.signal))
  await until(async () => (await post(1)) === 409)
  client.abort()
  await gone
  await until(async () => (await post(1)) === 200)
})

t.test('a heap snapshot that no one reads does not keep others from being made', async t => {
  const gone = new PassThrough()
  gone.destroy()
  await t.rejects(pipeline(Readable.from(heapSnapshot()), gone))
  let size = 0
  for await (const piece of heapSnapshot()) {
    t.throws(() => heapSnapshot(), { message: 'this process is being profiled already' })
    size = piece.length
    break
  }
  t.ok(size > 0)
  t.doesNotThrow(() => heapSnapshot(), 'the last one has ended')
})

t.test('gateway top prints rates by model and upstream once, and no escapes without a terminal', async t => {
  const { gateway } = await serve(t)
  const options = { cwd: gateway.folder, env: { ...ENV, CALLER_KEY: gateway.key } }
  let isOver = false
  const sending = (async () => {
    while (!isOver)
      await gateway.request('/v1/chat/completions', {
        body: { model: 'sim-text', messages: [{ role: 'user', content: 'x' }] },
      })
  })()
  await gateway.log.find(({ msg }) => msg === 'request')
  const once = await run(['top', '--once', '--interval', '0.5'], options)
  t.equal(once.code, 0, once.stderr)
  t.match(once.stdout, /requests in flight, [1-9\d.]+ requests a second/)
  t.match(once.stdout, /MODEL +REQ\/S +FAILED\/S +INPUT TOK\/S +OUTPUT TOK\/S\nsim-\* +\d+\.\d +0\.0 +\d+\.\d +\d+\.\d/)
  t.match(once.stdout, /UPSTREAM +IN FLIGHT +WAITING +ATTEMPTS\/S +BREAKER\nsim +\d+ +\d+ +\d+\.\d +closed/)
  t.notMatch(once.stdout, '\x1b[2J')
  isOver = true
  await sending
})

const SCRIPT = '/usr/bin/script'

t.test(
  'gateway top shows a new page each interval in a terminal until it is stopped',
  { skip: !existsSync(SCRIPT) && 'no script' },
  async t => {
    const { gateway } = await serve(t)
    const command = `exec ${process.execPath} ${join(packageRoot(), 'bin', 'gateway.js')} top --interval 0.2`
    const env = { PATH: process.env.PATH ?? '', TERM: 'xterm', ...ENV, CALLER_KEY: gateway.key }
    const child = spawn(SCRIPT, ['-qfec', command, '/dev/null'], { cwd: gateway.folder, env, stdio: 'pipe' })
    t.teardown(() => child.kill('SIGKILL'))
    const ended = new Promise<number | null>(resolve => child.once('close', resolve))
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    await until(() => text.split('\x1b[2J').length > 3)
    t.match(text, /requests in flight/)
    child.stdin.write('\x03')
    // Of the program, or of a shell around it, as the system has it.
    t.ok([0, 130].includes((await ended) ?? -1))
  },
)

t.test(
  'gateway top prints one page without escapes to a terminal that knows none',
  { skip: !existsSync(SCRIPT) && 'no script' },
  async t => {
    const { gateway } = await serve(t)
    const command = `exec ${process.execPath} ${join(packageRoot(), 'bin', 'gateway.js')} top --interval 0.2`
    const env = { PATH: process.env.PATH ?? '', TERM: 'dumb', ...ENV, CALLER_KEY: gateway.key }
    const child = spawn(SCRIPT, ['-qfec', command, '/dev/null'], { cwd: gateway.folder, env, stdio: 'pipe' })
    t.teardown(() => child.kill('SIGKILL'))
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    t.strictSame(await once(child, 'close'), [0, null])
    t.match(text, /requests in flight/)
    t.notMatch(text, '\x1b')
  },
)

t.test('gateway top gives up a gateway that does not answer', async t => {
  const server = createServer((_, response) => void response.write('gateway_requests_total 1\n'))
  const origin = `http://127.0.0.1:${await listening(t, server)}`
  const cwd = t.testdir({ 'gateway.yaml': `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator } }\n` })
  const result = await run(['top', '--once', '--admin', origin], { cwd, env: ENV })
  t.match(result, { code: 1, stderr: `error: ${origin} broke its answer off, or took too long` })
})

t.test('a page of gateway top fits its terminal', { skip: !existsSync(SCRIPT) && 'no script' }, async t => {
  const { line } = await adminLine()
  const upstreams = ['a', 'b', 'c', 'd', 'e', 'f'].map(name => `${name}: { kind: simulator }`).join(', ')
  const yaml = `version: 1\n${CALLER}\nstore: { type: memory }\nupstreams: { ${upstreams} }\nmodels: { "sim-*": a }\n`
  const gateway = await startTestGateway(t, `${yaml}${line}\n`, { env: ENV })
  const env = { PATH: process.env.PATH ?? '', TERM: 'xterm', ...ENV, CALLER_KEY: gateway.key }
  const pages: readonly (readonly [rows: number, lines: readonly RegExp[]])[] = [
    [3, [/in flight/, /^$/]],
    [9, [/in flight/, /^$/, /^MODEL/, /^$/, /^UPSTREAM/, /^a /, /^b /, /^… and 4 more/]],
    [12, [/in flight/, /^$/, /^MODEL/, /^$/, /^UPSTREAM/, /^a /, /^b /, /^c /, /^d /, /^e /, /^f /]],
  ]
  for (const [rows, lines] of pages) {
    const top = `exec ${process.execPath} ${join(packageRoot(), 'bin', 'gateway.js')} top --interval 0.2`
    const args = ['-qfec', `stty rows ${rows} cols 20; ${top}`, '/dev/null']
    const child = spawn(SCRIPT, args, { cwd: gateway.folder, env, stdio: 'pipe' })
    t.teardown(() => child.kill('SIGKILL'))
    let text = ''
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    await until(() => text.split(PAGE).length > 2)
    const [page = ''] = text.split(PAGE)[1]?.split(PAGE_END) ?? []
    const shown = BOLD.reduce((one, code) => one.replaceAll(code, ''), page).split('\r\n')
    t.equal(shown.length, lines.length, shown.join('\n'))
    for (const [at, one] of lines.entries()) t.match(shown[at], one)
  }
})

const PAGE = '\x1b[2J\x1b[?7l'
const PAGE_END = '\x1b[?7h'
const BOLD = ['\x1b[1m', '\x1b[22m']

t.test(
  'gateway top ends by one Ctrl-C while the gateway does not answer',
  { skip: !existsSync(SCRIPT) && 'no script' },
  async t => {
    const server = createServer(() => undefined)
    const asked = once(server, 'request')
    const origin = `http://127.0.0.1:${await listening(t, server)}`
    const cwd = t.testdir({ 'gateway.yaml': `version: 1\n${CALLER}\nupstreams: { sim: { kind: simulator } }\n` })
    const top = `exec ${process.execPath} ${join(packageRoot(), 'bin', 'gateway.js')} top --admin ${origin}`
    const env = { PATH: process.env.PATH ?? '', TERM: 'xterm', ...ENV }
    const child = spawn(SCRIPT, ['-qfec', top, '/dev/null'], { cwd, env, stdio: 'pipe' })
    t.teardown(() => child.kill('SIGKILL'))
    const ended = new Promise<number | null>(resolve => child.once('close', resolve))
    await asked
    child.stdin.write('\x03')
    t.ok([0, 130].includes((await ended) ?? -1))
  },
)
