import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { type Bin, run, start } from './bin.js'
import { BAD, GOOD, TEST_KEY } from './files.js'

const GENERATED = GOOD.replace('{ env: TEST_KEY }', '{ env: TEST_KEY, generate: true }')
const env = { TEST_KEY }
const SCRIPT = '/usr/bin/script'
const BIN = join(packageRoot(), 'bin', 'gateway.js')

interface Request {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
}

/** Takes the printed curl line apart as a shell would. */
async function printedRequest(bin: Bin, variables: Readonly<Record<string, string>> = {}): Promise<Request> {
  const [command] = await bin.until(/^curl [\s\S]*?-d '.*'$/m)
  const text = command
    .replaceAll('\\\n', '')
    .replace(/\$([A-Z_]+)/g, (_, name: string) => variables[name] ?? '')
    .replace(/\$\(cat '([^']+)'\)/g, (_, file: string) => readFileSync(file, 'utf8').trim())
  const headers = [...text.matchAll(/-H "([^:"]+): ([^"]*)"/g)].map(([, name, value]) => [name ?? '', value ?? ''])
  return {
    url: /^curl (\S+)/.exec(text)?.[1] ?? '',
    headers: Object.fromEntries(headers),
    body: /-d '(.*)'$/m.exec(text)?.[1] ?? '',
  }
}

async function paste({ url, headers, body }: Request): Promise<Response> {
  return fetch(url, { method: 'POST', headers, body })
}

function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text)
  renameSync(`${file}.new`, file)
}

t.test('serve from start to end: the pasted request works, an edit goes live, SIGTERM ends it with 0', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GENERATED })
  const bin = start(t, ['serve', '--port', '0'], { cwd })
  const request = await printedRequest(bin)
  const first = await paste(request)
  t.equal(first.status, 200)
  t.match(await first.json(), { object: 'chat.completion', model: 'sim-text' })

  replace(
    join(cwd, 'gateway.yaml'),
    GENERATED.replace('models:\n', 'models:\n  my-model: { upstream: sim, as: sim-text }\n'),
  )
  await bin.until(/"reloaded"/)
  const second = await paste({ ...request, body: request.body.replace('sim-text', 'my-model') })
  t.equal(second.status, 200)
  await second.text()

  replace(join(cwd, 'gateway.yaml'), BAD)
  await bin.until(/reload failed/)
  t.equal((await paste(request)).status, 200, 'the last good plan goes on')

  bin.child.kill('SIGTERM')
  const { code, stdout } = await bin.ended
  t.equal(code, 0)
  t.match(stdout, 'SIGTERM: draining')
})

t.test('serve prints the address, upstreams on and off and why, models and routes', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const bin = start(t, ['serve', '--port', '0'], { cwd, env })
  await bin.until(/^curl/m)
  t.match(bin.stdout, /^upstreams {2}sim; off: north \(NORTH_KEY is not set\)$/m)
  t.match(bin.stdout, /^models {5}sim-text; 1 off$/m)
  t.match(bin.stdout, /^routes {5}\d+ \(gateway routes and gateway models list all\)$/m)
  t.match(bin.stdout, /^listening on http:\/\/127\.0\.0\.1:\d+$/m)
  t.equal(bin.stderr.includes('\u001b['), false)
})

t.test('a start has at most 20 lines, log and all: the shipped file, and one with much that is off', async t => {
  const shipped = readFileSync(join(packageRoot(), 'gateway.yaml'), 'utf8')
  const many = Array.from({ length: 30 }, (_, at) => `  u${at}: { kind: openai, secret: { env: NONE_${at} } }`)
  const keys = Array.from({ length: 30 }, (_, at) => `  k${at}: { secret: { env: TEST_KEY_${at} } }`)
  const values = Object.fromEntries(keys.map((_, at) => [`TEST_KEY_${at}`, `${TEST_KEY}-${at}`]))
  const large = shipped
    .replace('upstreams:\n', `upstreams:\n${many.join('\n')}\n`)
    .replace('models:\n', `models:\n${many.map((_, at) => `  m${at}: u${at}`).join('\n')}\n`)
    .replace('keys:\n', `keys:\n${keys.join('\n')}\n`)
  for (const [text, more] of [
    [shipped, {}],
    [large, values],
  ] as const) {
    const cwd = t.testdir({ 'gateway.yaml': text })
    const bin = start(t, ['serve', '--port', '0'], { cwd, env: more })
    await bin.until(/^ {2}-d '.*'$/m)
    await bin.until(/"msg":"upstreams are off"/)
    const lines = (bin.stdout + bin.stderr).trimEnd().split('\n')
    t.ok(lines.length <= 20, `${lines.length} lines:\n${lines.join('\n')}`)
    bin.child.kill('SIGTERM')
    await bin.ended
  }
})

t.test('a key from a variable is named, never shown, and the request uses the variable', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GENERATED })
  const bin = start(t, ['serve', '--port', '0'], { cwd, env })
  const request = await printedRequest(bin, env)
  t.match(bin.stdout, /^key local: from TEST_KEY$/m)
  t.match(bin.stdout, '$TEST_KEY')
  t.notMatch(bin.stdout, TEST_KEY)
  t.equal((await paste(request)).status, 200)
})

t.test('a generated key goes into no file: its own file is named, and the request reads it there', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GENERATED })
  const file = join(cwd, 'data', 'keys', 'local')
  for (const how of ['created on this start, kept in', 'kept in']) {
    const bin = start(t, ['serve', '--port', '0'], { cwd })
    t.equal((await paste(await printedRequest(bin))).status, 200)
    bin.child.kill('SIGTERM')
    const { code, stdout, stderr } = await bin.ended
    t.equal(code, 0)
    t.match(stdout, `key local: ${how} ${file}`)
    const key = readFileSync(file, 'utf8').trim()
    t.notOk((stdout + stderr).includes(key), 'the key is not shown')
  }
})

t.test('--show-key prints a generated key, which stays the same', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GENERATED })
  for (const how of ['created on this start', 'kept in']) {
    const bin = start(t, ['serve', '--port', '0', '--show-key'], { cwd })
    const [, key, why] = await bin.until(/^key local: (\S+) {2}\((.*)\)$/m)
    t.match(why, how)
    t.equal(readFileSync(join(cwd, 'data', 'keys', 'local'), 'utf8').trim(), key)
    bin.child.kill('SIGTERM')
    t.equal((await bin.ended).code, 0)
  }
})

// `script` runs a command on a terminal of its own.
t.test('a terminal shows a generated key on the start that makes it alone', { skip: !existsSync(SCRIPT) }, async t => {
  const cwd = t.testdir({ 'gateway.yaml': GENERATED })
  for (const isShown of [true, false]) {
    const command = `${process.execPath} ${BIN} serve --port 0`
    const child = spawn(SCRIPT, ['-qec', command, '/dev/null'], { cwd })
    let text = ''
    const listening = new Promise<void>(resolve => {
      child.stdout.on('data', data => {
        text += data
        if (text.includes('curl ')) resolve()
      })
    })
    const ended = once(child, 'exit')
    await Promise.race([listening, ended])
    // The terminal's own interrupt.
    child.stdin.write('\x03')
    await ended
    const key = readFileSync(join(cwd, 'data', 'keys', 'local'), 'utf8').trim()
    t.equal(text.includes(key), isShown)
  }
})

t.test('options win over the file', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const bin = start(t, ['serve', '--host', '127.0.0.2', '--port', '0', '--log-level', 'silent'], { cwd, env })
  const { url } = await printedRequest(bin)
  t.match(url, /^http:\/\/127\.0\.0\.2:/)
  t.equal(bin.stderr, '')
})

t.test('SIGHUP reloads', { skip: process.platform === 'win32' }, async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const bin = start(t, ['serve', '--port', '0', '--no-watch'], { cwd, env })
  await bin.until(/^curl/m)
  replace(join(cwd, 'gateway.yaml'), `${GOOD}  other: sim\n`)
  bin.child.kill('SIGHUP')
  await bin.until(/"reloaded"/)
  t.pass('reloaded')
})

/** Two signals one after the other, or both at once, as a process gets them that was stopped meanwhile. */
const TWO_SIGNALS = {
  'a second signal': async (bin: Bin): Promise<void> => {
    bin.child.kill('SIGTERM')
    await bin.until(/SIGTERM: draining/)
    bin.child.kill('SIGTERM')
  },
  'two signals at once': async ({ child }: Bin): Promise<void> => {
    for (const signal of ['SIGSTOP', 'SIGTERM', 'SIGINT', 'SIGCONT'] as const) child.kill(signal)
  },
}

for (const [name, signal] of Object.entries(TWO_SIGNALS))
  t.test(`F-P2 ${name} ends at once, although a stream is running, with exit code 1`, async t => {
    const cwd = t.testdir({ 'gateway.yaml': `${GOOD}  "sim-text?*": sim\n` })
    const bin = start(t, ['serve', '--port', '0'], { cwd, env })
    const request = await printedRequest(bin, env)
    const slow = { model: 'sim-text?pace=10s', stream: true, messages: [{ role: 'user', content: 'hello' }] }
    const response = await paste({ ...request, body: JSON.stringify(slow) })
    t.equal(response.status, 200)
    await signal(bin)
    t.equal((await bin.ended).code, 1)
    await response.text().catch(() => undefined)
  })

t.test('F-P3 a port in use ends the start with one line and exit code 1', async t => {
  const server = createServer()
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const address = server.address()
  const port = typeof address === 'object' ? String(address?.port) : ''
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const { code, stdout, stderr } = await run(['serve', '--port', port], { cwd, env })
  t.equal(code, 1)
  t.equal(stdout, '')
  t.match(stderr, new RegExp(`^error: 127\\.0\\.0\\.1:${port} is in use[^\n]*\n$`))
})

t.test('F-P3 a host that is not ours ends the start with one line and exit code 1', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const { code, stderr } = await run(['serve', '--port', '0', '--host', '192.0.2.1'], { cwd, env })
  t.equal(code, 1)
  t.match(stderr, /^error: 192\.0\.2\.1 is not an address of this machine[^\n]*\n$/)
})

t.test('F-P3 a bad certificate ends the start with one message and exit code 1', async t => {
  const tls = 'listen: { tls: { cert: bad.pem, key: bad.pem } }\n'
  const cwd = t.testdir({ 'gateway.yaml': `${GOOD}${tls}`, 'bad.pem': 'not a certificate' })
  const { code, stderr } = await run(['serve', '--port', '0'], { cwd, env })
  t.equal(code, 1)
  t.match(stderr, /certificate|listener|PEM|bad\.pem/)
  t.notMatch(stderr, / at .*\.js/)
})

t.test('a file that does not compile ends the start with its problems and exit code 1', async t => {
  const cwd = t.testdir({ 'gateway.yaml': BAD })
  const { code, stdout, stderr } = await run(['serve', '--port', '0'], { cwd, env })
  t.equal(code, 1)
  t.equal(stdout, '')
  t.match(stderr, /^gateway\.yaml:6:/m)
  t.match(stderr, 'error: gateway.yaml is not valid')
})

t.test('no file, and a data folder that cannot keep a key, end the start with one line', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GENERATED, data: 'a file where the folder should be' })
  const none = await run(['serve', 'none.yaml'], { cwd })
  t.equal(none.code, 2)
  t.match(none.stderr, /^error: there is no none\.yaml[^\n]*\n$/)
  const full = await run(['serve', '--port', '0'], { cwd })
  t.equal(full.code, 1)
  t.match(full.stderr, /^error: the key "local" cannot be kept in [^\n]*\n$/)
})

/** A program's first line: sends itself that signal when it first listens anywhere, so during its start. */
function signalAtListen(signal: string): string {
  const code = `import net from 'node:net'
const { listen } = net.Server.prototype
net.Server.prototype.listen = function (...args) {
  net.Server.prototype.listen = listen
  process.kill(process.pid, '${signal}')
  return listen.apply(this, args)
}`
  return `--import=data:text/javascript,${encodeURIComponent(code)}`
}

t.test('SIGTERM while it begins to listen drains at once', { skip: process.platform === 'win32' }, async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const flags = [signalAtListen('SIGTERM')]
  const { code, signal, stdout, stderr } = await run(['serve', '--port', '0'], { cwd, env, flags, bare: true })
  t.same({ code, signal }, { code: 0, signal: null })
  t.match(stdout, 'SIGTERM: draining')
  t.match(stderr, '"drained"')
})

t.test('SIGHUP while it begins to listen reloads then', { skip: process.platform === 'win32' }, async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const flags = [signalAtListen('SIGHUP')]
  const bin = start(t, ['serve', '--port', '0', '--log-level', 'debug'], { cwd, env, flags, bare: true })
  await bin.until(/reloading the configuration/)
  bin.child.kill('SIGTERM')
  t.match(await bin.ended, { code: 0, signal: null })
})

t.test('SIGTERM before there is anything to serve ends it', { skip: process.platform === 'win32' }, async t => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const bin = start(t, ['serve', `http://127.0.0.1:${port}/gateway.yaml`], { cwd: t.testdir({}), env, bare: true })
  const [socket] = (await once(silent, 'connection')) as [Socket]
  bin.child.kill('SIGTERM')
  t.match(await bin.ended, { code: 143, signal: null })
  socket.destroy()
  silent.close()
})

t.test('a closed standard output does not end a running gateway', async t => {
  const cwd = t.testdir({ 'gateway.yaml': GOOD })
  const bin = start(t, ['serve', '--port', '0'], { cwd, env })
  const request = await printedRequest(bin, env)
  bin.child.stdout?.destroy()
  t.equal((await paste(request)).status, 200)
  bin.child.kill('SIGTERM')
  t.equal((await bin.ended).code, 0)
})
