import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { connectRaw } from '../helpers/raw-client.js'
import { freePort } from '../helpers/store-servers.js'

const BENCH = join(packageRoot(), 'bench')

t.test("the bench's upstream answers bodies of any length, in any pieces, and requests without one", async t => {
  const port = await freePort()
  const child = spawn(process.execPath, [join(BENCH, 'upstream.mjs'), String(port)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const client = await connectRaw(t, `http://127.0.0.1:${port}`)
  const post = (body: string): string => `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  const asked: readonly (readonly [string, readonly number[]])[] = [
    [post('{}'), []],
    [post('{"a":1}'), [10, 55]],
    [post(''), []],
    ['GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n', []],
    [post(`{"user":"large","text":"${'x'.repeat(500)}"}`), [60, 300]],
  ]
  for (const [bytes, cuts] of asked) {
    await client.send(bytes, cuts)
    const head = await client.head()
    t.match(head.line, /^HTTP\/1\.1 200/)
    t.ok((await client.body(head)).whole)
  }
  t.equal(child.exitCode, null)
})

/** Stands for nginx: it listens first, and begins its worker only when someone has connected. */
const LATE_NGINX = `#!${process.execPath}
const load = names => Promise.all(names.map(name => import('node:' + name)))
load(['child_process', 'net', 'fs']).then(([{ spawn }, { createServer }, { readFileSync }]) => {
const config = readFileSync(process.argv[process.argv.indexOf('-c') + 1], 'utf8')
const port = Number(/listen 127\\.0\\.0\\.1:(\\d+)/.exec(config)[1])
createServer(socket => {
  socket.on('error', () => undefined)
  setTimeout(() => spawn(process.execPath, ['-e', 'process.stdin.resume()'], { stdio: ['pipe', 'ignore', 'ignore'] }), 300)
}).listen(port, '127.0.0.1')
})
`

t.test("the bench measures nginx's worker, though that begins after nginx listens", async t => {
  const folder = t.testdir({ nginx: LATE_NGINX })
  chmodSync(join(folder, 'nginx'), 0o755)
  writeFileSync(
    join(folder, 'ask.mjs'),
    `import { rss, startNginx, stopAll } from ${JSON.stringify(join(BENCH, 'processes.mjs'))}
const nginx = await startNginx(1)
console.log(JSON.stringify({ isWorker: nginx.pid > 0 && nginx.pid !== nginx.child.pid, mib: rss(nginx) }))
await stopAll()
process.exit(0)
`,
  )
  const env = { ...process.env, PATH: `${folder}:${process.env.PATH}` }
  const child = spawn(process.execPath, [join(folder, 'ask.mjs')], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  let out = ''
  child.stdout.on('data', (data: Buffer) => {
    out += String(data)
  })
  await once(child, 'close')
  const { isWorker, mib } = JSON.parse(out) as { isWorker: boolean; mib: number }
  t.ok(isWorker)
  t.ok(mib > 0)
})
