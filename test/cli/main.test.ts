import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import t from 'tap'
import { main } from '../../src/cli/main.js'
import { packageRoot } from '../../src/core/package-root.js'
import { run } from './bin.js'
import { GOOD, TEST_KEY } from './files.js'

const GROUPS = ['keys', 'store', 'tasks', 'ledger']
const COMMANDS = [
  ...[
    'serve',
    'validate',
    'fmt',
    'explain',
    'routes',
    'models',
    'audit',
    'keys',
    'keys new',
    'store',
    'store check',
    'store migrate',
  ],
  ...[
    'tasks',
    'tasks list',
    'tasks show',
    'tasks cancel',
    'spend',
    'ledger',
    'ledger verify',
    'schema',
    'init',
    'simulate',
  ],
]

for (const command of COMMANDS) {
  t.test(`gateway ${command} --help describes the command`, async t => {
    const { code, stdout, stderr } = await run([...command.split(' '), '--help'])
    t.equal(code, 0)
    t.equal(stderr, '')
    t.match(stdout, `Usage: gateway ${command}`)
    if (!GROUPS.includes(command)) t.match(stdout, new RegExp(`Examples?:\n  \\$ gateway ${command}`))
  })
}

t.test('gateway --help lists the commands and shows an example', async t => {
  const { code, stdout } = await run(['--help'])
  t.equal(code, 0)
  for (const command of COMMANDS) t.match(stdout, command.split(' ')[0] ?? '')
  t.match(stdout, '$ gateway serve')
})

t.test('gateway --version prints the version alone', async t => {
  const { code, stdout } = await run(['--version'])
  t.equal(code, 0)
  t.match(stdout, /^\d+\.\d+\.\d+\n$/)
})

t.test('gateway --help fits a screen, and names every command', async t => {
  const { stdout } = await run(['--help'])
  const lines = stdout.trimEnd().split('\n')
  t.ok(lines.length <= 24 && lines.every(line => line.length <= 80), stdout)
  const source = readFileSync(join(packageRoot(), 'README.md'), 'utf8')
  for (const [, name = ''] of source.matchAll(/^\| `gateway (\w+)/gm))
    t.match(stdout, new RegExp(`\\b${name}\\b`), name)
})

t.test('gateway without a command shows help on stderr and exits 2', async t => {
  const { code, stdout, stderr } = await run([])
  t.equal(code, 2)
  t.equal(stdout, '')
  t.match(stderr, 'Usage: gateway')
})

t.test('an unknown command is reported with a suggestion, and exits 2', async t => {
  const { code, stderr } = await run(['valdate'])
  t.equal(code, 2)
  t.match(stderr, 'Did you mean validate?')
})

t.test('there is no help of an unknown command', async t => {
  t.match(await run(['valdate', '--help']), { code: 2, stdout: '', stderr: 'Did you mean validate?' })
})

t.test('help of an unknown command below another, or after the word help, is an error with a suggestion', async t => {
  for (const [line, meant] of [
    ['help valdate', 'validate'],
    ['keys creat --help', 'create'],
    ['help keys creat', 'create'],
    ['keys help creat', 'create'],
  ] as const)
    t.match(await run(line.split(' ')), { code: 2, stdout: '', stderr: `Did you mean ${meant}?` }, line)
  for (const line of ['help keys create', 'keys help create', 'keys create -h'])
    t.match(await run(line.split(' ')), { code: 0, stdout: 'Usage: gateway keys create' }, line)
  t.match(await run(['help']), { code: 0, stdout: 'Usage: gateway [options]', stderr: /^$/ })
})

t.test('a word too many says where the file is named, if the command has no place for it', async t => {
  t.match(await run(['plan', 'a', 'b', 'c']), { code: 2, stderr: 'got 3. The configuration follows -f.' })
  t.notMatch((await run(['routes', 'a', 'b'])).stderr, 'follows -f')
})

const FULL = '/dev/full'

t.test(
  'serve ends well although nothing can read what it prints',
  { skip: !existsSync(FULL) && 'no full device' },
  async t => {
    const cwd = t.testdir({ 'gateway.yaml': GOOD })
    const bin = join(packageRoot(), 'bin', 'gateway.js')
    const args = ['-c', `exec "$0" "$1" serve --port 0 --no-watch > ${FULL}`, process.execPath, bin]
    const child = spawn('sh', args, { cwd, env: { PATH: process.env.PATH, TEST_KEY }, stdio: 'pipe' })
    t.teardown(() => child.kill('SIGKILL'))
    const ended = once(child, 'close')
    let said = ''
    for await (const text of child.stderr.setEncoding('utf8')) {
      said += text
      if (said.includes('cannot be written')) break
    }
    child.kill('SIGTERM')
    t.strictSame(await ended, [0, null], said)
  },
)

t.test('an output that cannot be written is reported in one line, and exits 1', async t => {
  const output = () => new PassThrough()
  const stdout = new Writable({ write: (_data, _encoding, done) => done(new Error('the disk is full')) })
  const stderr = output()
  const code = await main(['schema'], { stdout, stderr, stdin: output(), env: {} })
  await once(stderr, 'readable')
  t.equal(String(stderr.read()), 'error: the output cannot be written (the disk is full)\n')
  t.ok(code === 1 || process.exitCode === 1)
  process.exitCode = 0
})

t.test('an unknown option exits 2', async t => {
  const { code, stderr } = await run(['validate', '--fromat', 'json'])
  t.equal(code, 2)
  t.match(stderr, 'Did you mean --format?')
})

t.test('values that an option cannot have exit 2, before anything is read', async t => {
  for (const [line, says] of [
    ['tail --status abc', 'A status such as 404'],
    ['tail --slow 200ms', 'A number of milliseconds'],
    ['receipts list --day 2026-13-45', 'There is no such day.'],
  ] as const)
    t.match(await run(line.split(' ')), { code: 2, stderr: says }, line)
})

t.test('a port that is not one is refused', async t => {
  for (const port of ['65536', '-1', 'eighty', '1e3', '']) {
    const { code, stderr } = await run(['serve', `--port=${port}`])
    t.equal(code, 2, port)
    t.match(stderr, 'A port is a number from 0 to 65535')
  }
})
