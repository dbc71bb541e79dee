import { chmodSync, writeFileSync } from 'node:fs'
import { createServer as createPlain, type RequestListener, type Server } from 'node:http'
import { createServer as createSecure } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { folderWith } from '../config/support.js'
import { ADMIN_SECRET, adminLine } from '../helpers/admin.js'
import { certificate } from '../helpers/certificates.js'
import { startTestGateway } from '../helpers/gateway.js'
import { command } from './in-process.js'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000

interface Result {
  readonly check: string
  readonly subject: string
  readonly state: string
  readonly found: string
  readonly advice?: string
}

async function portOf(t: Test, server: Server): Promise<number> {
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const good: RequestListener = (_, response) => response.end('{"data":[]}')

/** A server whose certificate is valid for these days from now. */
async function secure(t: Test, name: string, from: number, to: number): Promise<{ port: number; cert: string }> {
  const now = Date.now()
  const pair = certificate(name, new Date(now + from * DAY_MS), new Date(now + to * DAY_MS))
  return { port: await portOf(t, createSecure(pair, good)), cert: pair.cert }
}

async function diagnosed(args: readonly string[], env = {}): Promise<{ code: number; results: readonly Result[] }> {
  const { code, stdout, stderr } = await command(['doctor', ...args, '--format', 'json', '--timeout', '5'], { env })
  if (stderr !== '') throw new Error(stderr)
  return { code, results: (JSON.parse(stdout) as { results: Result[] }).results }
}

function resultOf(results: readonly Result[], check: string, subject: string): Result | undefined {
  return results.find(one => one.check === check && one.subject === subject)
}

t.test(
  'doctor reads the certificates of real servers: expired, of its own, of another name, ending soon, good',
  async t => {
    const servers = {
      expired: await secure(t, 'localhost', -30, -2),
      early: await secure(t, 'localhost', 2, 30),
      soon: await secure(t, 'localhost', -30, 3.5),
      other: await secure(t, 'north.example', -1, 300),
      sound: await secure(t, 'localhost', -1, 300),
      unknown: await secure(t, 'localhost', -1, 300),
    }
    const lines = Object.entries(servers).map(([name, { port }]) => {
      const ca = name === 'unknown' ? '' : `, tls: { ca: ./${name}.pem }`
      return `  ${name}: { kind: openai-compatible, base: "https://localhost:${port}", secret: { env: A_KEY }${ca} }`
    })
    const models = Object.keys(servers).map(name => `  m-${name}: ${name}`)
    const text = ['version: 1', 'listen: { host: 127.0.0.1, port: 0 }', 'upstreams:', ...lines, 'models:', ...models]
    const certs = Object.entries(servers).map(([name, { cert }]) => [`${name}.pem`, cert])
    const cwd = folderWith(t, { 'gateway.yaml': `${text.join('\n')}\n`, ...Object.fromEntries(certs) })
    const { code, results } = await diagnosed([join(cwd, 'gateway.yaml')], { A_KEY: 'key-of-the-servers' })
    t.equal(code, 1)
    const expected = {
      expired: ['fault', /has expired \(localhost, issued by localhost, until \d{4}-\d\d-\d\d\)/, /Renew it/],
      early: ['fault', /not valid yet/, /clock/],
      soon: ['warning', /ends in 3 days/, /renew/],
      other: ['fault', /north\.example|altnames/, /name/],
      sound: ['ok', /^TLSv1\.3, localhost, until /, undefined],
      unknown: ['fault', /signed by itself/, /tls: \{ ca/],
    } as const
    for (const [name, [state, found, advice]] of Object.entries(expected)) {
      const result = resultOf(results, 'tls', name)
      t.match(
        result,
        { state, found, ...(advice === undefined ? {} : { advice }) },
        `${name}: ${JSON.stringify(result)}`,
      )
      t.match(resultOf(results, 'dns', name), { state: 'ok', found: /^localhost is / })
    }
    t.match(resultOf(results, 'clock', 'this machine'), { state: 'ok' })
    t.notMatch(JSON.stringify(results), 'key-of-the-servers')
  },
)

t.test('doctor knows a gateway that runs by both of its ports', async t => {
  const { line, origin } = await adminLine()
  const env = { GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  const rest = `${line}\nupstreams: { sim: { kind: simulator } }\nmodels: { sim-text: sim }\n`
  const gateway = await startTestGateway(t, `version: 1\n${rest}`, { env })
  const listen = `listen: { port: ${new URL(gateway.origin).port} }\nstore: { type: memory }`
  const cwd = folderWith(t, { 'gateway.yaml': `version: 1\n${listen}\n${rest}` })
  const { results } = await diagnosed([join(cwd, 'gateway.yaml'), '--offline'], env)
  for (const [name, at] of Object.entries({ listen: gateway.origin, admin: origin }))
    t.match(resultOf(results, 'port', `${name} ${new URL(at).host}`), { state: 'ok', found: /a gateway runs there/ })
})

t.test('doctor names what is wrong with addresses, clocks, ports and credentials, and what to do', async t => {
  const late: RequestListener = (_, response) => {
    response.setHeader('date', new Date(Date.now() + HOUR_MS).toUTCString())
    response.end('{"data":[]}')
  }
  const refusing: RequestListener = (request, response) => {
    const known = request.headers.authorization === 'Bearer right-key-right-key-right-key'
    response.writeHead(request.url === '/v1/models' && !known ? 401 : 200).end('{"data":[]}')
  }
  const [ahead, asks] = [await portOf(t, createPlain(late)), await portOf(t, createPlain(refusing))]
  const taken = await portOf(
    t,
    createPlain((_, response) => response.end('something else')),
  )
  const closed = createPlain(good)
  const silent = await portOf(t, closed)
  await new Promise(resolve => closed.close(resolve))
  const text = `version: 1
listen: { host: 127.0.0.1, port: ${taken} }
store: { type: file, path: ./data }
keys: { me: { secret: { file: ./me.key }, models: ["*"] } }
upstreams:
  ahead: { kind: openai-compatible, base: "http://127.0.0.1:${ahead}", secret: { env: A_KEY } }
  wrong: { kind: openai-compatible, base: "http://127.0.0.1:${asks}", secret: { env: A_KEY } }
  right: { kind: openai-compatible, base: "http://127.0.0.1:${asks}", secret: { env: RIGHT_KEY } }
  nowhere: { kind: openai-compatible, base: "https://no-such-host.test", secret: { env: A_KEY } }
  unwritten: { kind: openai-compatible, base: "https://openai-compatible.invalid", secret: { env: A_KEY } }
  plain: { kind: openai-compatible, base: "https://127.0.0.1:${asks}", secret: { env: A_KEY } }
  silent: { kind: openai-compatible, base: "http://127.0.0.1:${silent}", secret: { env: A_KEY } }
  absent: { kind: openai-compatible, base: "http://127.0.0.1:${asks}", secret: { env: ABSENT_KEY } }
models: { a: ahead, b: wrong, c: right, d: nowhere, e: silent, f: absent, g: unwritten, h: plain }
`
  const cwd = folderWith(t, { 'gateway.yaml': text })
  writeFileSync(join(cwd, 'me.key'), 'gw-a-key-that-everyone-may-read-here')
  chmodSync(join(cwd, 'me.key'), 0o644)
  const env = { A_KEY: 'wrong-key-wrong-key-wrong-key', RIGHT_KEY: 'right-key-right-key-right-key' }
  const { code, results } = await diagnosed([join(cwd, 'gateway.yaml'), '--try-credentials'], env)
  t.equal(code, 1)
  t.match(resultOf(results, 'clock', 'this machine'), { state: 'ok' }, 'the middle one of three clocks')
  t.match(resultOf(results, 'credential', 'wrong'), {
    state: 'fault',
    found: /GET \/v1\/models answered 401/,
    advice: /new secret/,
  })
  t.match(resultOf(results, 'credential', 'right'), { state: 'ok' })
  t.match(resultOf(results, 'dns', 'nowhere'), { state: 'fault', found: /cannot be resolved/, advice: /base/ })
  t.match(resultOf(results, 'dns', 'unwritten'), { state: 'fault', found: /is a placeholder$/ })
  t.match(resultOf(results, 'connection', 'plain'), { state: 'fault', found: /: no TLS there$/, advice: /http:\/\// })
  t.match(resultOf(results, 'connection', 'silent'), { state: 'fault', found: /ECONNREFUSED/, advice: /firewall/ })
  t.match(resultOf(results, 'secret', 'upstream absent'), { state: 'warning', found: /ABSENT_KEY is not set/ })
  t.match(resultOf(results, 'port', `listen 127.0.0.1:${taken}`), { state: 'fault', advice: /another port/ })
  t.match(
    results.find(({ subject }) => subject.endsWith('me.key')),
    { check: 'secret', state: 'warning', advice: /^chmod o-rwx/ },
  )
  t.match(resultOf(results, 'store', 'file'), { state: 'ok', found: /empty/ })
  for (const name of ['version', 'file', 'folder', 'ulimit', 'memory', 'processors'])
    t.ok(
      results.some(({ check }) => check === name),
      name,
    )
  t.ok(results.every(({ state, advice }) => (state === 'warning' || state === 'fault') === (advice !== undefined)))

  const alone = text.replaceAll(/^ {2}(?!ahead).*\n/gm, '').replace(/^models.*/m, 'models: { a: ahead }')
  writeFileSync(join(cwd, 'gateway.yaml'), alone)
  const skewed = await diagnosed([join(cwd, 'gateway.yaml')], env)
  t.match(resultOf(skewed.results, 'clock', 'this machine'), { state: 'fault', found: /^3(600|599|601) s behind/ })
  const offline = await command(['doctor', join(cwd, 'gateway.yaml'), '--offline'], { env })
  t.match(offline.stdout, /skipped +connection +upstreams: not asked/)
  t.match(offline.stdout, /\n1 fault, \d+ warnings?\n$/)
  t.notMatch(offline.stdout, 'clock')
})

t.test('doctor refuses a configuration that is not valid, and a time-out of zero', async t => {
  const cwd = folderWith(t, { 'gateway.yaml': 'version: 1\nmodells: {}\n' })
  t.match(await command(['doctor', join(cwd, 'gateway.yaml')]), { code: 1, stderr: /gateway\.yaml:2:1/ })
  t.match(await command(['doctor', '--timeout', '0']), { code: 2, stderr: /1 to 60 seconds/ })
})

t.test('doctor finds no fault in a configuration for coming through standard input, or from an address', async t => {
  const text = 'version: 1\nlisten: { port: 0 }\nstore: { type: memory }\nupstreams: { sim: { kind: simulator } }\n'
  const server = createPlain((_, response) => response.end(text))
  const address = `http://127.0.0.1:${await portOf(t, server)}/gateway.yaml`
  for (const file of ['-', address]) {
    const { code, stdout } = await command(['doctor', file, '--offline', '--format', 'json'], { input: text })
    const { results } = JSON.parse(stdout) as { results: Result[] }
    t.strictSame([code, results.filter(({ check }) => check === 'file')], [0, []], file)
  }
})

t.test('doctor takes authorities of clients and modules for no secrets', async t => {
  const { cert, key } = certificate('localhost', new Date(0), new Date(Date.UTC(2100, 0, 1)))
  const cwd = folderWith(t, {
    'gateway.yaml': `version: 1
listen: { port: 0, tls: { cert: cert.pem, key: key.pem, client_ca: clients.pem } }
store: { type: memory }
identity: { certificates: { caller: { models: [sim-text] } } }
upstreams: { sim: { kind: simulator } }
models: { sim-text: sim }
checks: { own: { type: ./check.mjs } }
`,
    ...{ 'cert.pem': cert, 'clients.pem': cert, 'key.pem': key },
    'check.mjs': 'export const openCheck = () => ({ check: () => "pass" })\n',
  })
  chmodSync(join(cwd, 'clients.pem'), 0o644)
  chmodSync(join(cwd, 'check.mjs'), 0o666)
  chmodSync(join(cwd, 'key.pem'), 0o600)
  const { results } = await diagnosed([join(cwd, 'gateway.yaml'), '--offline'])
  const warned = results.filter(({ check, state }) => ['file', 'secret'].includes(check) && state === 'warning')
  t.match(warned, [{ check: 'file', subject: /check\.mjs$/ }])
  t.equal(warned.length, 1)
})
