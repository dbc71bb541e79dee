import { spawn, spawnSync } from 'node:child_process'
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { packageRoot } from '../../src/core/package-root.js'
import { start } from '../cli/bin.js'
import { DebianRoot } from '../helpers/debian-root.js'
import { skipped } from '../helpers/skipped.js'

/** The service of systemd: what the gateway tells it, and the .deb that installs it. */

const ROOT = packageRoot()
// Copying and packing thousands of files takes long where others use the disk.
t.setTimeout(240_000)
/** Twice the default of `limits.drain`, and what a supervisor gives its workers beyond. */
const LONGEST_END_SECONDS = 2 * 30 + 15
const has = (name: string): boolean => spawnSync(name, ['--version']).error === undefined

/** Prints each datagram that a socket gets, as systemd would read it. */
const RECEIVER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('bound', flush=True)
while True: print(s.recv(4096).decode().replace(chr(10), ' ') + ' ', flush=True)
`

t.test('systemd hears that the gateway is ready, that it is alive, and that it stops', async t => {
  if (!has('systemd-notify') || !has('python3')) return skipped(t, 'systemd-notify or no python3')
  const folder = t.testdir({
    'gateway.yaml': 'version: 1\nlisten: { port: 0 }\nupstreams: { sim: { kind: simulator } }\n',
  })
  // Paths of sockets are short.
  const place = mkdtempSync(join(tmpdir(), 'notify-'))
  t.teardown(() => rmSync(place, { recursive: true, force: true }))
  const socket = join(place, 's')
  const receiver = spawn('python3', ['-c', RECEIVER, socket])
  t.teardown(() => receiver.kill())
  let heard = ''
  let look: () => void = () => undefined
  receiver.stdout.setEncoding('utf8').on('data', (text: string) => {
    heard += text
    look()
  })
  const until = (pattern: RegExp): Promise<void> =>
    new Promise(resolve => {
      look = () => pattern.test(heard) && resolve()
      look()
    })
  await until(/^bound$/m)
  const env = { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '400000' }
  const served = start(t, ['serve'], { cwd: folder, env, bare: true })
  await until(new RegExp(`^(?=.*READY=1)(?=.*MAINPID=${served.child.pid}\\b).*$`, 'm'))
  await until(/WATCHDOG=1[\s\S]*WATCHDOG=1/)
  served.child.kill('SIGTERM')
  await until(/STOPPING=1/)
  t.match(await served.ended, { code: 0 })
})

t.test('a program that cannot notify is reported once, and the gateway serves', async t => {
  const cwd = t.testdir({
    'gateway.yaml': 'version: 1\nlisten: { port: 0 }\nupstreams: { sim: { kind: simulator } }\n',
  })
  const env = { NOTIFY_SOCKET: join(cwd, 'none'), WATCHDOG_USEC: '100000', PATH: '/nowhere' }
  const served = start(t, ['serve'], { cwd, env })
  await served.until(/systemd-notify cannot be run/)
  served.child.kill('SIGTERM')
  const { code, stderr } = await served.ended
  t.equal(code, 0)
  t.equal(stderr.match(/cannot be run/g)?.length, 1)
})

/** The package, made once. */
let made: string | undefined
function deb(t: Test): string {
  if (made !== undefined) return made
  const folder = mkdtempSync(join(tmpdir(), 'gateway-deb-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(ROOT, 'scripts/deb.mjs'), folder], {
    encoding: 'utf8',
  })
  t.equal(status, 0, stderr)
  made = stdout.trim()
  return made
}

t.test('the .deb holds the command, the unit and a configuration, and what it installs serves', async t => {
  if (!has('dpkg-deb')) return skipped(t, 'dpkg-deb')
  const folder = t.testdir({})
  const file = deb(t)
  const { stdout: listed } = spawnSync('dpkg-deb', ['--contents', file], {
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  })
  for (const path of [
    './usr/bin/gateway -> /usr/lib/node_modules/model-gateway/bin/gateway.js',
    './usr/lib/systemd/system/gateway.service',
    './etc/gateway/gateway.yaml',
    './usr/lib/node_modules/model-gateway/dist/bundle/main.cjs',
    './usr/lib/node_modules/model-gateway/node_modules/undici/package.json',
  ])
    t.match(listed, path)
  t.notMatch(listed, /node_modules\/(tap|typescript|esbuild)\//)
  t.notMatch(listed, /^\S+ (?!root\/root)/m, 'all belongs to root')
  const { stdout: fields } = spawnSync('dpkg-deb', ['--field', file], { encoding: 'utf8' })
  t.match(fields, /^Depends: nodejs \(>= 20\.19\)/m)

  const installed = join(folder, 'installed')
  mkdirSync(installed)
  t.equal(spawnSync('dpkg-deb', ['--extract', file, installed]).status, 0)
  const config = join(installed, 'etc/gateway/gateway.yaml')
  t.match(readFileSync(config, 'utf8'), 'path: /var/lib/gateway')
  const unit = readFileSync(join(installed, 'usr/lib/systemd/system/gateway.service'), 'utf8')
  t.match(
    unit,
    /^ExecStart=\/usr\/bin\/env gateway serve /m,
    'the command is found by the path, as npm and the .deb put it',
  )
  const command = 'usr/lib/node_modules/model-gateway/bin/gateway.js'
  const served = start(t, ['serve', config, '--port', '0'], {
    cwd: folder,
    file: join(installed, command),
    env: { GATEWAY_KEY: 'the-key-of-the-caller-0123456789' },
    bare: true,
  })
  await served.until(/listening on http/)
  served.child.kill('SIGTERM')
  t.match(await served.ended, { code: 0 })
})

t.test('dpkg installs the .deb, upgrades it, removes it and purges it', async t => {
  if (!has('dpkg-deb') || process.getuid?.() !== 0) return skipped(t, 'dpkg, or no right to use it')
  const file = deb(t)
  const system = new DebianRoot(t.testdir({}), { nodejs: '22.12.0-1', systemd: '252' })
  t.match(system.dpkg('--install', file), { status: 0 })
  t.match(system.dpkg('--status', 'model-gateway').said, 'Status: install ok installed')
  t.same(system.calls(), ['daemon-reload'])
  const config = join(system.folder, 'etc/gateway/gateway.yaml')
  const command = join(system.folder, 'usr/lib/node_modules/model-gateway/bin/gateway.js')
  const env = { ...process.env, GATEWAY_KEY: 'the-key-of-the-caller-0123456789' }
  const valid = spawnSync(process.execPath, [command, 'validate', config], { encoding: 'utf8', env })
  t.equal(valid.status, 0, valid.stderr)

  appendFileSync(config, '# mine\n')
  t.match(system.dpkg('--install', file), { status: 0 })
  t.match(readFileSync(config, 'utf8'), '# mine', 'an upgrade keeps the configuration')
  t.notOk(system.calls().includes('stop gateway.service'), 'and the service runs on')

  t.match(system.dpkg('--remove', 'model-gateway'), { status: 0 })
  t.same(system.calls(), ['stop gateway.service', 'daemon-reload'])
  t.notOk(system.has('usr/lib/node_modules'))
  t.ok(system.has('etc/gateway/gateway.yaml'))
  t.match(system.dpkg('--purge', 'model-gateway'), { status: 0 })
  t.notOk(system.has('etc/gateway'), 'nothing is left')
})

t.test('the service of systemd may write where the documentation keeps a configuration, and a log', async t => {
  const unit = readFileSync(join(ROOT, 'deploy/gateway.service'), 'utf8')
  t.match(readFileSync(join(ROOT, 'docs/fleet.md'), 'utf8'), '--cache /var/cache/gateway')
  for (const line of ['CacheDirectory=gateway', 'LogsDirectory=gateway', 'StateDirectory=gateway']) t.match(unit, line)
})

t.test('the service of systemd has time to drain', async t => {
  const unit = readFileSync(join(ROOT, 'deploy/gateway.service'), 'utf8')
  t.ok(Number(/^TimeoutStopSec=(\d+)s$/m.exec(unit)?.[1]) >= LONGEST_END_SECONDS)
})

t.test('the service of launchd is well formed, runs a command that exists, and has time to drain', async t => {
  if (!has('python3')) return skipped(t, 'python3')
  const script = 'import json, plistlib, sys; print(json.dumps(plistlib.load(open(sys.argv[1], "rb"))))'
  const { stdout, stderr } = spawnSync('python3', ['-c', script, join(ROOT, 'deploy/model-gateway.plist')], {
    encoding: 'utf8',
  })
  t.equal(stderr, '')
  const { ProgramArguments, ExitTimeOut } = JSON.parse(stdout) as {
    ProgramArguments: readonly string[]
    ExitTimeOut: number
  }
  const [program = '', ...args] = ProgramArguments
  t.match(program, /\/gateway$/)
  t.ok(ExitTimeOut >= LONGEST_END_SECONDS)
  const folder = t.testdir({
    'gateway.yaml': 'version: 1\nlisten: { port: 0 }\nupstreams: { sim: { kind: simulator } }\n',
    '.env': '',
  })
  const served = start(t, args, { cwd: folder, bare: true })
  await served.until(/listening on http/)
  served.child.kill('SIGTERM')
  t.match(await served.ended, { code: 0 })
})
