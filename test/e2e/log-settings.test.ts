import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { run, start } from '../cli/bin.js'
import { ADMIN_SECRET, adminLine, adminOf } from '../helpers/admin.js'
import { CHAT_ANSWER, json } from '../helpers/answers.js'
import { canary, proveNoLeak, witness } from '../helpers/canaries.js'
import { CHAT, oneUpstream, startTestGateway } from '../helpers/gateway.js'
import { request } from '../helpers/raw-client.js'
import { type RawUpstream, startRawUpstream } from '../helpers/raw-upstream.js'

const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SCRIPT = '/usr/bin/script'
const BIN = join(packageRoot(), 'bin', 'gateway.js')
const PRICES = 'prices: { up/m: { input: 1.00, output: 10.00 } }\n'

type Line = Readonly<Record<string, unknown>>

async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise(resolve => setTimeout(resolve, 10))
}

const textOf = (path: string): string => (existsSync(path) ? readFileSync(path, 'utf8') : '')
const linesOf = (path: string): readonly Line[] =>
  textOf(path)
    .split('\n')
    .slice(0, -1)
    .map(line => JSON.parse(line))

async function upstreamOf(t: Test): Promise<RawUpstream> {
  const upstream = await startRawUpstream(t)
  upstream.answer(json(CHAT_ANSWER))
  return upstream
}

/** A gateway as a process in a terminal of its own, which gets one request. What the terminal shows. */
async function onTerminal(t: Test, settings: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const upstream = await upstreamOf(t)
  const cwd = t.testdir({
    'gateway.yaml': `${oneUpstream(upstream.origin)}${PRICES}store: { type: memory }\n${settings}`,
  })
  const secrets = { CALLER_KEY: canary('caller'), UPSTREAM_KEY: canary('upstream') }
  const command = `${process.execPath} ${BIN} serve --port 0`
  const given = { PATH: process.env.PATH ?? '', TERM: 'xterm', ...secrets, ...env }
  const child = spawn(SCRIPT, ['-qec', command, '/dev/null'], { cwd, env: given })
  t.teardown(() => child.kill())
  let text = ''
  child.stdout.setEncoding('utf8').on('data', (more: string) => {
    text += more
  })
  const ended = once(child, 'exit')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what the terminal gets
  const address = /address=(http:[^\s\x1b]+)/
  await until(() => address.test(text) || child.exitCode !== null)
  const origin = address.exec(text)?.[1] ?? ''
  const answer = await request(t, origin, '/v1/chat/completions', { key: secrets.CALLER_KEY, body: CHAT })
  t.equal(answer.status, 200)
  await until(() => text.includes('3+1 tokens'))
  // The terminal's own interrupt.
  child.stdin.write('\x03')
  await ended
  witness('log', Buffer.from(text))
  return text
}

const noTerminal = { skip: existsSync(SCRIPT) || process.env.CI === 'true' ? false : 'SKIPPED: there is no script' }

t.test('a terminal gets lines that a person reads, in colours', noTerminal, async t => {
  const text = await onTerminal(t, '')
  t.match(text, '\x1b[32m200\x1b[0m POST \x1b[36mm\x1b[0m → up/m 3+1 tokens 0.000013 USD ')
  t.notMatch(text, '"msg"')
})

t.test('NO_COLOR: the same without colours', noTerminal, async t => {
  const text = await onTerminal(t, '', { NO_COLOR: '1' })
  t.match(
    text,
    /\d\d:\d\d:\d\d\.\d{3} 200 POST m → up\/m 3\+1 tokens 0\.000013 USD [\d.]+ ms key=caller trace=[\da-f]{32} id=[\w-]+\r?\n/,
  )
  t.notMatch(text, '\x1b[')
})

t.test('a pipe gets JSON, and what --log-format asks for', async t => {
  const cwd = t.testdir({ 'gateway.yaml': oneUpstream('http://127.0.0.1:9') })
  const env = { CALLER_KEY: canary('caller'), UPSTREAM_KEY: canary('upstream') }
  const piped = start(t, ['serve', '--port', '0'], { cwd, env })
  t.equal(JSON.parse((await piped.until(/^.*"listening".*$/m))[0]).level, 'info')
  const text = start(t, ['serve', '--port', '0', '--log-format', 'text'], { cwd, env })
  t.match((await text.until(/^.* listening .*$/m))[0], /^\d\d:\d\d:\d\d\.\d{3} INFO {2}listening address=http/)
  const ecs = start(t, ['serve', '--port', '0', '--log-format', 'ecs'], { cwd, env })
  t.equal(JSON.parse((await ecs.until(/^.*"listening".*$/m))[0])['log.level'], 'info')
})

t.test('a file gets JSON, rotates, and moves with a reload; what cannot be opened changes nothing', async t => {
  const upstream = await upstreamOf(t)
  const yaml = (to: string): string => oneUpstream(upstream.origin, `log: { to: ${to} }\n`)
  const gateway = await startTestGateway(t, yaml('{ file: logs/a.log, size: 2KiB, keep: 100 }'))
  const folder = join(gateway.folder, 'logs')
  const path = join(folder, 'a.log')
  for (let i = 0; i < 12; i++) {
    t.equal((await gateway.chat()).status, 200)
    await until(() => [...textOf(path)].length > 0 && totalRequests(folder) === i + 1)
  }
  const files = readdirSync(folder)
  t.ok(files.length >= 2, files.join(' '))
  await gateway.write('gateway.yaml', yaml('{ file: gateway.yaml/x.log }'))
  await gateway.gateway.reload()
  await until(() => /the old place stays/.test(allOf(folder)))
  const stays = allOf(folder)
  t.match(stays, /"next":"check that the folder exists/)
  await gateway.write('gateway.yaml', yaml('{ file: logs/b.log }'))
  await gateway.gateway.reload()
  await gateway.chat()
  const other = join(folder, 'b.log')
  await until(() => linesOf(other).some(line => line.msg === 'request'))
  t.equal(totalRequests(folder), 13, 'no line is lost')
  witness('log', Buffer.from(allOf(folder)))
})

function allOf(folder: string): string {
  return readdirSync(folder)
    .map(name => textOf(join(folder, name)))
    .join('')
}

/** A file that gets another name meanwhile may be read twice: lines count by the ids of their requests. */
function totalRequests(folder: string): number {
  return new Set(allOf(folder).match(/"msg":"request","id":"[^"]+"/g)).size
}

t.test('a log file that cannot be opened is an error of the start, in one line', async t => {
  const settings = 'log: { to: { file: gateway.yaml/x.log } }\n'
  const cwd = t.testdir({ 'gateway.yaml': oneUpstream('http://127.0.0.1:9', settings) })
  const env = { CALLER_KEY: canary('caller'), UPSTREAM_KEY: canary('upstream') }
  const { code, stderr } = await run(['serve', '--port', '0'], { cwd, env })
  t.not(code, 0)
  t.match(stderr, /cannot write the log \(log\.to\.file\): (ENOTDIR|EEXIST)/)
})

t.test('lines of requests have the fields that are asked for, and a share of them says which share', async t => {
  const upstream = await upstreamOf(t)
  const gateway = await startTestGateway(
    t,
    oneUpstream(upstream.origin, `log: { fields: [key, status], sample: { ok: 0.5, client_error: 0 } }\n`),
  )
  const COUNT = 60
  for (let i = 0; i < COUNT; i++) await gateway.chat()
  t.equal((await gateway.chat({ model: 'absent' })).status, 404)
  upstream.answer(json({ error: { message: 'no' } }, { status: 503 }))
  t.ok((await gateway.chat()).status >= 500)
  const failed = await gateway.log.find(line => Number(line.status) >= 500)
  t.same(Object.keys(failed), ['level', 'time', 'msg', 'id', 'trace', 'key', 'status'], 'not sampled')
  const lines = gateway.log.items.filter(line => line.msg === 'request' && line !== failed)
  // 2^-60 for each side that none, or all, are written.
  t.ok(lines.length > 0 && lines.length < COUNT, `${lines.length} of ${COUNT}`)
  for (const line of lines)
    t.same(Object.keys(line), ['level', 'time', 'msg', 'id', 'trace', 'key', 'status', 'sample'])
  t.match(lines[0], { key: 'caller', status: 200, sample: 0.5 })
})

t.test('the level changes by the admin API, until the file has another one', async t => {
  const upstream = await upstreamOf(t)
  const { line, origin } = await adminLine()
  const yaml = (level: string): string => oneUpstream(upstream.origin, `${line}\nlog: { level: ${level} }\n`)
  const gateway = await startTestGateway(t, yaml('info'), { env: { GATEWAY_ADMIN_KEY: ADMIN_SECRET } })
  const admin = adminOf(t, origin)
  const debugs = (): number => gateway.log.items.filter(({ level }) => level === 'debug').length
  await gateway.chat()
  t.equal(debugs(), 0)
  t.match((await admin('GET', '/admin/log')).json(), { level: 'info', configured: 'info', to: 'stderr', dropped: 0 })
  const changed = await admin('PUT', '/admin/log', { level: 'debug' })
  t.equal(changed.status, 200)
  t.match(changed.json(), { level: 'debug', configured: 'info' })
  await gateway.request('/v1/chat/completions', { body: CHAT, headers: { traceparent: TRACEPARENT } })
  await gateway.log.find(({ msg, trace }) => msg === 'request' && trace === TRACE)
  const ofRequest = gateway.log.items.filter(({ level, msg }) => level === 'debug' || msg === 'request').slice(1)
  t.ok(ofRequest.length >= 4, `${ofRequest.length} lines`)
  for (const one of ofRequest) t.equal(one.trace, TRACE, String(one.msg))
  for (const level of ['loud', undefined]) {
    t.equal((await admin('PUT', '/admin/log', level === undefined ? {} : { level })).status, 400)
  }
  await gateway.gateway.reload()
  t.match((await admin('GET', '/admin/log')).json(), { level: 'debug' }, 'a reload alone leaves it')
  await gateway.write('gateway.yaml', yaml('warn'))
  await gateway.gateway.reload()
  t.match((await admin('GET', '/admin/log')).json(), { level: 'warn', configured: 'warn' })
})

t.test('workers write whole lines to one file, and change their level together', async t => {
  const upstream = await upstreamOf(t)
  const { line, origin } = await adminLine()
  const yaml = `${oneUpstream(upstream.origin, `${line}\n`)}store: { type: file, path: data }
log: { to: { file: logs/gateway.log, size: 16KiB, keep: 1000 } }\nworkers: 2\n`
  const cwd = t.testdir({ 'gateway.yaml': yaml })
  const caller = canary('caller')
  const env = { CALLER_KEY: caller, UPSTREAM_KEY: canary('upstream'), GATEWAY_ADMIN_KEY: ADMIN_SECRET }
  const bin = start(t, ['serve', '--port', '0', '--no-watch'], { cwd, env })
  const [, address = ''] = await bin.until(/curl (http:\/\/[^/]+)\//)
  const folder = join(cwd, 'logs')
  const COUNT = 200
  const send = async (): Promise<void> => {
    for (let i = 0; i < COUNT / 8; i++) {
      const answer = await request(t, address, '/v1/chat/completions', { key: caller, body: CHAT })
      if (answer.status !== 200) throw new Error(answer.text)
    }
  }
  await Promise.all(Array.from({ length: 8 }, send))
  await until(() => totalRequests(folder) >= COUNT)
  const lines = allOf(folder).split('\n').slice(0, -1)
  const parsed = lines.map(one => JSON.parse(one) as Line)
  t.equal(parsed.filter(one => one.msg === 'request').length, COUNT)
  t.ok(parsed.some(one => one.worker === 1) && parsed.some(one => one.worker === 2))
  t.ok(readdirSync(folder).length > 2, readdirSync(folder).join(' '))
  t.equal((await adminOf(t, origin)('PUT', '/admin/log', { level: 'error' })).status, 200)
  const before = totalRequests(folder)
  await Promise.all(Array.from({ length: 8 }, send))
  bin.child.kill('SIGTERM')
  t.equal((await bin.ended).code, 0)
  t.equal(totalRequests(folder), before, 'neither worker logs requests any more')
  witness('log', Buffer.from(allOf(folder) + bin.stdout + bin.stderr))
})

t.test("an upstream's error is logged with its text, without secrets, and cut, in each format", async t => {
  for (const format of ['json', 'text', 'ecs', 'otel']) {
    const upstream = await startRawUpstream(t)
    const gateway = { folder: t.testdir({}) }
    const secret = canary('upstream')
    const message = `the key ${secret} is not known here ${'long '.repeat(400)}`
    upstream.answer(json({ error: { message } }, { status: 400 }))
    const path = join(gateway.folder, `${format}.log`)
    const settings = `log: { format: ${format}, to: { file: "${path}" } }\n`
    const served = await startTestGateway(t, oneUpstream(upstream.origin, settings), { env: { UPSTREAM_KEY: secret } })
    t.equal((await served.chat()).status, 400)
    await until(() => textOf(path).includes('is not known here'))
    const text = textOf(path)
    t.notOk(text.includes(secret), format)
    t.ok(text.length < 4000, `${format}: ${text.length} characters`)
    witness('log', Buffer.from(text))
  }
})

t.test('wrong settings are reported with their place', async t => {
  const file = join(t.testdir(), 'gateway.yaml')
  const settings = `log:
  format: xml
  to: { file: a.log, size: big, keep: -1 }
  sample: { ok: 2, slow: 1 }
  fields: [key, modle]
`
  writeFileSync(file, oneUpstream('http://127.0.0.1:9', settings))
  const { code, stdout, stderr } = await run(['validate', file], { env: { CALLER_KEY: canary('caller') } })
  t.not(code, 0)
  const said = stdout + stderr
  for (const path of [
    'log.format',
    'log.to.size',
    'log.to.keep',
    'log.sample.ok',
    'log.sample.slow',
    'log.fields[1]',
  ]) {
    t.ok(said.includes(path), path)
  }
  t.match(said, /did you mean "model"/)
})

proveNoLeak(t)
